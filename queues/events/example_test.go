package events_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/queues"
	"ratchet/queues/events"
)

// A Lambda function that is invoked again for the same invoice returns its first result again.
func ExampleFunction() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "invoice/v1"})
	if err != nil {
		panic(err)
	}

	function, err := events.Function(events.FunctionConfig{
		Claims: claims,
		Key: func(event json.RawMessage) (string, error) {
			var in struct{ Invoice string }
			err := json.Unmarshal(event, &in)

			return in.Invoice, err
		},
	}, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		fmt.Println("the invoice is printed")
		return json.RawMessage(`{"pages":2}`), nil
	})
	if err != nil {
		panic(err)
	}

	for range 2 {
		out, err := function(context.Background(), json.RawMessage(`{"invoice":"i-7"}`))
		fmt.Println(string(out), err)
	}
	// Output:
	// the invoice is printed
	// {"pages":2} <nil>
	// {"pages":2} <nil>
}

// A message that SQS delivers again is not handled again: its outcome is stored under the message's key.
func ExampleMessages() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "parcels/v1"})
	if err != nil {
		panic(err)
	}

	handleOnce, err := events.Messages(events.Config{Claims: claims})
	if err != nil {
		panic(err)
	}

	handler := handleOnce(func(ctx context.Context, m queues.Message) queues.Outcome {
		if events.ClaimFrom(ctx).Outcome == once.TakenOver {
			fmt.Println("an earlier run may have printed the label: look for it first")
		}
		fmt.Println("label for", m.Body)

		return queues.Done()
	})

	for range 2 {
		out := handler(context.Background(), queues.Message{Queue: "parcels", ID: "m-1", Body: "parcel 7"})
		fmt.Println(out.Kind)
	}
	// Output:
	// label for parcel 7
	// done
	// done
}

// Behind Lambda, a batch that is delivered again does not repeat the work of its messages.
func ExampleMessages_lambda() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "parcels/v1"})
	if err != nil {
		panic(err)
	}

	handleOnce, err := events.Messages(events.Config{Claims: claims})
	if err != nil {
		panic(err)
	}

	label := func(_ context.Context, m queues.Message) queues.Outcome {
		fmt.Println("label for", m.Body)
		return queues.Done()
	}

	function, err := queues.NewLambda(queues.LambdaConfig{Handler: label, Middleware: []queues.Middleware{handleOnce}})
	if err != nil {
		panic(err)
	}

	// lambda.Start(function.Handle) does this in a function.
	for range 2 {
		batch := json.RawMessage(`{"Records":[{"messageId":"m-1","body":"parcel 7","eventSourceARN":"arn:aws:sqs:eu-central-1:111122223333:parcels"}]}`)

		response, err := function.Handle(context.Background(), batch)
		fmt.Println(len(response.Failures), err)
	}
	// Output:
	// label for parcel 7
	// 0 <nil>
	// 0 <nil>
}
