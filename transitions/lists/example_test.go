package lists_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// Orders that are older than their lists are listed by Rebuild; a handler of the stream calls Record for the changes
// after that.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(transitions.Mapping{}.OrdersTable("orders"), lists.TableInput("lists"))
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)

	orders, err := transitions.New(transitions.Config{DynamoDB: db, Table: "orders"})
	if err != nil {
		panic(err)
	}

	for _, id := range []transitions.OrderID{"o-1", "o-2"} {
		if _, err := orders.Create(ctx, transitions.NewOrder{ID: id, Customer: "c-7", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
			panic(err)
		}
	}

	if _, err := orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2}); err != nil {
		panic(err)
	}

	all, err := lists.New(lists.Config{DynamoDB: db, Table: "lists", Orders: orders})
	if err != nil {
		panic(err)
	}

	if _, err := all.Rebuild(ctx, nil); err != nil {
		panic(err)
	}

	page, err := all.Page(ctx, lists.Query{State: workflow.PaymentReceived, Limit: 10})
	if err != nil {
		panic(err)
	}

	for _, order := range page.Orders {
		fmt.Println(order.ID, order.State)
	}
	// Output: o-1 PAYMENT_RECEIVED
}
