package requests_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
)

// The sender of a request gets its verdict before the message is deleted. A message that is
// not a request has no verdict.
func ExampleConfig() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(
		transitions.Mapping{}.OrdersTable("orders"), transitions.JournalTable("journal"), transitions.RequestsTable("requests"))
	defer closeAll()

	orders, err := transitions.New(transitions.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "orders", JournalTable: "journal", RequestsTable: "requests",
		Journal: transitions.JournalTransactional,
	})
	if err != nil {
		panic(err)
	}

	if _, err := orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		panic(err)
	}

	h, err := requests.New(requests.Config{
		Orders: orders,
		Answer: func(_ context.Context, m queues.Message, r transitions.Request, result transitions.Result) error {
			fmt.Printf("to the sender of %s: %s is %s\n", m.ID, r.Event, result.Verdict)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}

	for id, body := range []string{`{"orderId":"o-1","event":"cancel"}`, `{"orderId":"o-1","event":"explode"}`, `{"orderId":"o-1"}`} {
		out := h.Handle(ctx, queues.Message{ID: fmt.Sprint("m-", id), Body: body})
		fmt.Println(out.Kind, "malformed:", errors.Is(out.Err, requests.ErrMalformed))
	}
	// Output:
	// to the sender of m-0: cancel is Applied
	// done malformed: false
	// to the sender of m-1: explode is Illegal
	// reject malformed: false
	// reject malformed: true
}
