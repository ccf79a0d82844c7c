package destination_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/destination"
)

func open(t *testing.T, o destination.Opener, target string) notify.Destination {
	t.Helper()

	d, err := o.Open(notify.Endpoint{ID: "e", Settings: notify.Settings{Destination: target}})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestAQueueGetsTheMessageWithItsKey(t *testing.T) {
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	client := sqs.NewFromConfig(engine.AWSConfig())

	for _, name := range []string{"audit", "audit.fifo"} {
		attributes := map[string]string{}
		if strings.HasSuffix(name, ".fifo") {
			attributes["FifoQueue"] = "true"
		}

		made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		queue := open(t, destination.Opener{SQS: client}, "sqs:"+*made.QueueUrl)

		for range 2 { // a FIFO queue drops the repeat
			if _, err := queue.Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}

		got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl:              made.QueueUrl,
			MaxNumberOfMessages:   10,
			MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(got.Messages) == 0 {
			t.Fatalf("%s: %v", name, err)
		}

		m := got.Messages[0]
		if *m.Body != string(message.Body) || *m.MessageAttributes["key"].StringValue != message.Key || *m.MessageAttributes["id"].StringValue != message.ID {
			t.Errorf("%s: %s %v", name, *m.Body, m.MessageAttributes)
		}

		if strings.HasSuffix(name, ".fifo") && len(got.Messages) != 1 {
			t.Errorf("%s: a repeat arrived", name)
		}
	}
}

// recorder answers calls of AWS and keeps them.
type recorder struct {
	bodies, targets []string
	status          int
	answer          string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.bodies, r.targets = append(r.bodies, string(body)), append(r.targets, request.Header.Get("X-Amz-Target"))

	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.answer)
}

func (r *recorder) config(t *testing.T) aws.Config {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)

	return aws.Config{
		Region:       "eu-west-1",
		BaseEndpoint: &server.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient:   server.Client(),
	}
}

func TestATopicGetsTheMessageOnTheWire(t *testing.T) {
	r := &recorder{status: 200, answer: `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m-1</MessageId></PublishResult></PublishResponse>`}
	opener := destination.Opener{SNS: sns.NewFromConfig(r.config(t))}

	for _, arn := range []string{"arn:aws:sns:eu-west-1:123456789012:orders", "arn:aws:sns:eu-west-1:123456789012:orders.fifo"} {
		answer, err := open(t, opener, "sns:"+arn).Send(t.Context(), message)
		if err != nil || answer.Text != "message m-1" {
			t.Fatalf("%+v, %v", answer, err)
		}

		form, err := url.ParseQuery(r.bodies[len(r.bodies)-1])
		if err != nil || form.Get("Action") != "Publish" || form.Get("TopicArn") != arn || form.Get("Message") != string(message.Body) {
			t.Errorf("sent %v, %v", form, err)
		}

		isFIFO := strings.HasSuffix(arn, ".fifo")
		if (form.Get("MessageDeduplicationId") == message.ID) != isFIFO || (form.Get("MessageGroupId") == "o-1") != isFIFO {
			t.Errorf("sent %v", form)
		}
	}

	r.status, r.answer = 500, ""

	if _, err := open(t, opener, "sns:arn:x").Send(t.Context(), message); err == nil || errors.Is(err, notify.ErrRejected) {
		t.Errorf("a server error: %v", err)
	}
}

func TestABusGetsTheEventOnTheWire(t *testing.T) {
	r := &recorder{status: 200, answer: `{"FailedEntryCount":0,"Entries":[{"EventId":"e-1"}]}`}
	bus := open(t, destination.Opener{EventBridge: eventbridge.NewFromConfig(r.config(t))}, "eventbridge:orders")

	answer, err := bus.Send(t.Context(), message)
	if err != nil || answer.Text != "event e-1" || r.targets[0] != "AWSEvents.PutEvents" {
		t.Fatalf("%+v, %v, %v", answer, err, r.targets)
	}

	var sent struct {
		Entries []struct{ EventBusName, Source, DetailType, Detail string }
	}
	if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil || len(sent.Entries) != 1 {
		t.Fatalf("%s: %v", r.bodies[0], err)
	}

	if e := sent.Entries[0]; e.EventBusName != "orders" || e.Source != "ratchet.orders" || e.DetailType != "order.SHIPPED" || e.Detail != string(message.Body) {
		t.Errorf("sent %+v", e)
	}

	// An entry that failed in an answer that succeeds.
	r.answer = `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"slow down"}]}`

	if _, err := bus.Send(t.Context(), message); err == nil || !strings.Contains(err.Error(), "ThrottlingException") {
		t.Errorf("got %v", err)
	}
}

func TestADestinationThatIsNotSupportedIsRefused(t *testing.T) {
	for _, target := range []string{"sqs:https://queue", "sns:arn:x", "eventbridge:bus", "mailto:a@example.com", "file:x", "dir:x", "pigeon:x", "log:x", "sqs:", "https://127.0.0.1/"} {
		if _, err := (destination.Opener{Reach: "public"}).Open(notify.Endpoint{ID: "e", Settings: notify.Settings{Destination: target}}); !errors.Is(err, notify.ErrInvalid) {
			t.Errorf("%s: %v", target, err)
		}
	}
}
