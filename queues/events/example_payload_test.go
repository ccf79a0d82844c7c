package events_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/queues"
	"ratchet/queues/events"
)

// The work depends on the parcel only, so a message with another time of sending is a repeat.
// A message with the same key and another parcel is rejected.
func ExampleConfig() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "parcels/v1"})
	if err != nil {
		panic(err)
	}

	handleOnce, err := events.Messages(events.Config{
		Claims:  claims,
		Key:     func(m queues.Message) (string, error) { return m.Attributes["label"].Text, nil },
		Payload: func(m queues.Message) []byte { return []byte(m.Attributes["parcel"].Text) },
	})
	if err != nil {
		panic(err)
	}

	handler := handleOnce(func(_ context.Context, m queues.Message) queues.Outcome {
		fmt.Println("label for", m.Body)
		return queues.Done()
	})

	for _, m := range []struct{ parcel, body string }{
		{"7", "parcel 7, sent at 9:00"},
		{"7", "parcel 7, sent at 9:01"},
		{"8", "parcel 8, sent at 9:02"},
	} {
		out := handler(context.Background(), queues.Message{Queue: "parcels", ID: m.body, Body: m.body, Attributes: map[string]queues.Attribute{
			"label": {Type: "String", Text: "l-1"}, "parcel": {Type: "String", Text: m.parcel},
		}})
		fmt.Println(out.Kind)
	}
	// Output:
	// label for parcel 7, sent at 9:00
	// done
	// done
	// reject
}
