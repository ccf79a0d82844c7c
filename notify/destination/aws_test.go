package destination_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
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

// TestMessagesCarryTheTraceparent: to a queue and a topic as an attribute, to a bus in the form of
// X-Ray. A repeat in another trace is the same message to a FIFO queue.
func TestMessagesCarryTheTraceparent(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	client := sqs.NewFromConfig(engine.AWSConfig())

	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("audit.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		t.Fatal(err)
	}

	topic := &recorder{status: 200, answer: `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult/></PublishResponse>`}
	bus := &recorder{status: 200, answer: `{"FailedEntryCount":0,"Entries":[{"EventId":"e-1"}]}`}
	current := ""
	opener := destination.Opener{
		SQS:         client,
		SNS:         sns.NewFromConfig(topic.config(t)),
		EventBridge: eventbridge.NewFromConfig(bus.config(t)),
		Traceparent: func(context.Context) string { return current },
	}

	for _, current = range []string{parent + "01", parent + "00", ""} {
		for _, target := range []string{"sqs:" + *made.QueueUrl, "sns:arn:aws:sns:eu-west-1:123456789012:orders", "eventbridge:orders"} {
			if _, err := open(t, opener, target).Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}
	}

	got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
	if err != nil || len(got.Messages) != 1 || aws.ToString(got.Messages[0].MessageAttributes["traceparent"].StringValue) != parent+"01" {
		t.Errorf("the queue got %+v, %v", got.Messages, err)
	}

	for i, want := range []string{"01", "00", ""} {
		form, err := url.ParseQuery(topic.bodies[i])
		if sent := strings.Contains(topic.bodies[i], "traceparent"); err != nil || sent != (want != "") || sent && !slices.ContainsFunc(slices.Collect(maps.Values(form)), func(v []string) bool { return v[0] == parent+want }) {
			t.Errorf("the topic got %s, want %q", topic.bodies[i], want)
		}
	}

	for i, want := range []string{"Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1", "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=0", ""} {
		var sent struct {
			Entries []struct{ TraceHeader string }
		}
		if err := json.Unmarshal([]byte(bus.bodies[i]), &sent); err != nil || sent.Entries[0].TraceHeader != want {
			t.Errorf("the bus got %s, want %q", bus.bodies[i], want)
		}
	}
}

func TestADestinationThatIsNotSupportedIsRefused(t *testing.T) {
	for _, target := range []string{"sqs:https://queue", "sns:arn:x", "eventbridge:bus", "mailto:a@example.com", "file:x", "dir:x", "pigeon:x", "log:x", "sqs:", "https://127.0.0.1/"} {
		if _, err := (destination.Opener{Reach: "public"}).Open(notify.Endpoint{ID: "e", Settings: notify.Settings{Destination: target}}); !errors.Is(err, notify.ErrInvalid) {
			t.Errorf("%s: %v", target, err)
		}
	}
}
