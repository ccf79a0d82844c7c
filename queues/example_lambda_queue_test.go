package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
)

// failures counts in memory. The counter of package queues/events counts in DynamoDB.
type failures map[string]int

func (f failures) CountFailure(_ context.Context, message, _ string) (int, error) {
	f[message]++
	return f[message], nil
}

// createQueue creates a queue with the messages and returns its URL.
func createQueue(client *sqs.Client, name string, bodies ...string) (url string) {
	out, err := client.CreateQueue(context.Background(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		panic(err)
	}

	for _, body := range bodies {
		if _, err := client.SendMessage(context.Background(), &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &body}); err != nil {
			panic(err)
		}
	}

	return *out.QueueUrl
}

// receive receives a message and returns it as a mapping gives it to a function.
func receive(client *sqs.Client, url string) json.RawMessage {
	out, err := client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &url})
	if err != nil {
		panic(err)
	}

	m := out.Messages[0]

	event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": m.MessageId, "receiptHandle": m.ReceiptHandle, "body": m.Body,
		"attributes": m.Attributes, "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:parcels",
	}}})
	if err != nil {
		panic(err)
	}

	return event
}

// With the queue's client the function itself gives up a message: the first failure here is
// the last one, and the message becomes a dead letter with its reason.
func ExampleLambdaConfig() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sqs.NewFromConfig(cfg)
	url, dead := createQueue(client, "parcels", "a parcel without an address"), createQueue(client, "parcels-dead")
	counter := failures{}

	function, err := queues.NewLambda(queues.LambdaConfig{
		Handler: func(context.Context, queues.Message) queues.Outcome {
			return queues.Retry(0, errors.New("no address"))
		},
		Middleware: []queues.Middleware{func(next queues.Handler) queues.Handler {
			return func(ctx context.Context, m queues.Message) queues.Outcome {
				out := next(ctx, m)
				fmt.Println(m.Body, out.Kind)

				return out
			}
		}},
		SQS: client, QueueURL: url, DeadLetterURL: dead,
		Attempts: 1,
		Failures: counter,
	})
	if err != nil {
		panic(err)
	}

	response, err := function.Handle(context.Background(), receive(client, url))
	fmt.Println("not done:", response.Failures, err)
	fmt.Println("messages that failed:", len(counter))

	out, err := client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &dead, MessageAttributeNames: []string{queues.AttributeReason}})
	if err != nil {
		panic(err)
	}

	for _, m := range out.Messages {
		fmt.Println("dead letter:", aws.ToString(m.MessageAttributes[queues.AttributeReason].StringValue))
	}
	// Output:
	// a parcel without an address retry
	// not done: [] <nil>
	// messages that failed: 1
	// dead letter: given up after 1 attempt: no address
}

// A message that failed stays hidden for at least half of Backoff.Base.
func ExampleLambdaConfig_backoff() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	calls := embeddedtest.Intercept(&cfg)
	client := sqs.NewFromConfig(cfg)
	url := createQueue(client, "parcels", "parcel 7")

	function, err := queues.NewLambda(queues.LambdaConfig{
		Handler: func(context.Context, queues.Message) queues.Outcome {
			return queues.Retry(0, errors.New("the printer is off"))
		},
		SQS: client, QueueURL: url,
		Backoff: queues.Backoff{Base: time.Hour, Max: time.Hour},
	})
	if err != nil {
		panic(err)
	}

	event := receive(client, url)
	calls.Before(func(c *embeddedtest.Call) error {
		var in struct {
			Entries []struct{ VisibilityTimeout int }
		}

		body := c.Body()
		if json.Unmarshal(body, &in) == nil && len(in.Entries) == 1 {
			fmt.Println("hidden for 30 to 60 min:", in.Entries[0].VisibilityTimeout >= 1800 && in.Entries[0].VisibilityTimeout <= 3600)
		}

		return nil
	})

	response, err := function.Handle(context.Background(), event)
	fmt.Println("not done:", len(response.Failures), err)
	// Output:
	// hidden for 30 to 60 min: true
	// not done: 1 <nil>
}

// A call may take 10 ms, and all calls end a minute before the function's deadline. A function
// with less time than that calls no handler.
func ExampleLambdaConfig_margin() {
	function, err := queues.NewLambda(queues.LambdaConfig{
		Handler: func(ctx context.Context, _ queues.Message) queues.Outcome {
			<-ctx.Done()
			fmt.Println(context.Cause(ctx))

			return queues.Retry(0, context.Cause(ctx))
		},
		Timeout: 10 * time.Millisecond,
		Margin:  time.Minute,
	})
	if err != nil {
		panic(err)
	}

	event := json.RawMessage(`{"Records": [
		{"messageId": "1", "body": "a", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"}]}`)

	for _, left := range []time.Duration{time.Hour, time.Minute + 5*time.Millisecond, time.Second} {
		ctx, cancel := context.WithTimeout(context.Background(), left)
		response, err := function.Handle(ctx, event)
		fmt.Println("not done:", len(response.Failures), err)
		cancel()
	}
	// Output:
	// queues: handler took too long
	// not done: 1 <nil>
	// queues: consumer stopped
	// not done: 1 <nil>
	// not done: 1 <nil>
}

// One handler runs at a time, so the messages of the batch are handled in order.
func ExampleLambdaConfig_concurrency() {
	function, err := queues.NewLambda(queues.LambdaConfig{
		Handler: func(_ context.Context, m queues.Message) queues.Outcome {
			fmt.Println(m.Body)
			return queues.Done()
		},
		Concurrency: 1,
	})
	if err != nil {
		panic(err)
	}

	event := json.RawMessage(`{"Records": [
		{"messageId": "1", "body": "a", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"},
		{"messageId": "2", "body": "b", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"},
		{"messageId": "3", "body": "c", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"}]}`)

	_, err = function.Handle(context.Background(), event)
	fmt.Println(err)
	// Output:
	// a
	// b
	// c
	// <nil>
}
