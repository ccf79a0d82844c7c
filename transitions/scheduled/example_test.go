package scheduled_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// A trial ends unless it is kept: the order is canceled at that time. Here the time has come already, so that the first
// sweep finds the request.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(
		transitions.Mapping{}.OrdersTable("orders"), transitions.RequestsTable("requests"), timers.TableInput("orders-due"), scheduled.TableInput("scheduled"))
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)

	orders, err := transitions.New(transitions.Config{DynamoDB: db, Table: "orders", RequestsTable: "requests"})
	if err != nil {
		panic(err)
	}

	if _, err := orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		panic(err)
	}

	later, err := scheduled.New(scheduled.Config{DynamoDB: db, Table: "scheduled", DueTable: "orders-due", Orders: orders})
	if err != nil {
		panic(err)
	}

	end := transitions.Request{OrderID: "o-1", Event: workflow.Cancel, RequestID: "end-of-trial"}

	placed, err := later.Place(ctx, end, time.Now().Add(-5*time.Second))
	if err != nil {
		panic(err)
	}

	if _, err := later.Sweep(ctx, 100); err != nil {
		panic(err)
	}

	ended, err := later.Get(ctx, "o-1", placed.Request.ID)
	if err != nil {
		panic(err)
	}

	fmt.Println(ended.Event, ended.Status, ended.Verdict, ended.TransitionID)
	// Output: cancel applied Applied 2
}
