package timers_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// A sweep expires the orders that were not paid in time. Here the table of orders is read for the due rows;
// in a worker a handler of the stream calls Record.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(transitions.Mapping{}.OrdersTable("orders"), timers.TableInput("orders-due"))
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)

	definition, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: time.Second})
	if err != nil {
		panic(err)
	}

	orders, err := transitions.New(transitions.Config{DynamoDB: db, Table: "orders", Definition: definition})
	if err != nil {
		panic(err)
	}

	if _, err := orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		panic(err)
	}

	moved := make(chan transitions.Timer, 1)

	timed, err := timers.New(timers.Config{
		DynamoDB: db, Table: "orders-due", Orders: orders,
		Applied: func(t transitions.Timer, _ time.Duration) { moved <- t },
	})
	if err != nil {
		panic(err)
	}

	if _, err := timed.Rebuild(ctx, nil); err != nil {
		panic(err)
	}

	for len(moved) == 0 {
		if _, err := timed.Sweep(ctx, 100); err != nil {
			panic(err)
		}
		time.Sleep(100 * time.Millisecond)
	}

	t := <-moved
	fmt.Println(t.Event, t.From, t.To)
	// Output: expire PENDING EXPIRED
}
