package transitions_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// An order is paid once, however often the payment is asked for. The example uses an embedded engine in place of DynamoDB.
func ExampleOrders_Apply() {
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

	if _, err := orders.Create(ctx, transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"},
	}); err != nil {
		panic(err)
	}

	for _, request := range []transitions.Request{
		{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2},
		{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2},         // the answer was lost
		{OrderID: "o-1", Event: workflow.Ship, RequestID: "carrier/1"}, // the id is assigned
		{OrderID: "o-1", Event: workflow.Cancel, RequestID: "desk/1"},
		{OrderID: "o-2", Event: workflow.Pay, TransitionID: 2},
	} {
		result, err := orders.Apply(ctx, request)
		if err != nil {
			panic(err) // nothing is decided: send the same request again
		}

		fmt.Print(request.Event, ": ", result.Verdict)

		if result.Order != nil {
			fmt.Print(", ", result.Order.State, " since ", result.Order.TransitionID)
		}

		fmt.Println()
	}
	// Output:
	// pay: Applied, PAYMENT_RECEIVED since 2
	// pay: Replayed, PAYMENT_RECEIVED since 2
	// ship: Applied, SHIPPED since 3
	// cancel: WrongState, SHIPPED since 3
	// pay: NotFound
}
