package requests_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
)

// A Lambda function behind a queue of requests: one is delivered twice, one is malformed.
func Example() {
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

	h, err := requests.New(requests.Config{Orders: orders})
	if err != nil {
		panic(err)
	}

	function, err := queues.NewLambda(queues.LambdaConfig{Handler: h.Handle})
	if err != nil {
		panic(err)
	}

	event := json.RawMessage(`{"Records": [
		{"messageId": "1", "body": "{\"orderId\":\"o-1\",\"event\":\"cancel\"}", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"},
		{"messageId": "1", "body": "{\"orderId\":\"o-1\",\"event\":\"cancel\"}", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"},
		{"messageId": "2", "body": "{\"orderId\":\"o-1\"}", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q"}]}`)

	response, err := function.Handle(ctx, event) // lambda.Start(function.Handle)
	fmt.Println("not done:", response, err)

	order, _, err := orders.Get(ctx, "o-1")
	fmt.Println(order.State, order.TransitionID, err)
	// Output:
	// not done: {[{2}]} <nil>
	// CANCELLED 2 <nil>
}
