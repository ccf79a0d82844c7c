package transitions_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Requests of different orders do not wait for each other; those of one order are applied in the order of
// the list. After an error, the later requests of the same order are not sent.
func ExampleOrders_ApplyMany() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(
		transitions.Mapping{}.OrdersTable("orders"), transitions.JournalTable("journal"), transitions.RequestsTable("requests"))
	defer closeAll()

	orders, err := transitions.New(transitions.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "orders", JournalTable: "journal", RequestsTable: "requests",
	})
	if err != nil {
		panic(err)
	}

	for _, id := range []transitions.OrderID{"o-1", "o-2"} {
		if _, err := orders.Create(ctx, transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
			panic(err)
		}
	}

	outcomes, err := orders.ApplyMany(ctx, []transitions.Request{
		{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2},
		{OrderID: "o-1", Event: workflow.Ship, TransitionID: 3},
		{OrderID: "o-2", Event: workflow.Pay, TransitionID: -1}, // invalid
		{OrderID: "o-2", Event: workflow.Ship, TransitionID: 3},
	}, 8)
	if err != nil {
		panic(err)
	}

	for _, o := range outcomes {
		var failed *transitions.Error

		switch {
		case errors.Is(o.Err, transitions.ErrNotSent):
			fmt.Println("not sent: send it again after the one before")
		case errors.As(o.Err, &failed):
			fmt.Println(failed.Order, failed.Event, "invalid:", errors.Is(o.Err, transitions.ErrInvalidRequest))
		default:
			fmt.Println(o.Order.ID, o.Verdict)
		}
	}
	// Output:
	// o-1 Applied
	// o-1 Applied
	// o-2 pay invalid: true
	// not sent: send it again after the one before
}

// An edit that would exceed a bound says which one.
func ExampleLimitError() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(transitions.Mapping{}.OrdersTable("orders"), transitions.JournalTable("journal"))
	defer closeAll()

	orders, err := transitions.New(transitions.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "orders", JournalTable: "journal"})
	if err != nil {
		panic(err)
	}

	created, err := orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 1, Currency: "EUR"}})
	if err != nil {
		panic(err)
	}

	_, err = orders.AddItems(ctx, transitions.Edit{OrderID: created.Order.ID, EventID: "cart-1"},
		transitions.Item{SKU: "gold", Quantity: 1_000_000, Price: 1_000_000_000})

	var limit *transitions.LimitError
	if errors.As(err, &limit) && errors.Is(err, transitions.ErrOrderFull) {
		fmt.Println(limit.What, limit.Limit)
	}
	// Output: total.amount 1000000000000000
}
