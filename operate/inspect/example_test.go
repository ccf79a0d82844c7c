package inspect_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Why is the order in its state, and which events does it accept now?
func ExampleExplain() {
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

	if _, err := orders.Apply(ctx, transitions.Request{
		OrderID: "o-1", Event: workflow.Hold, RequestID: "desk/1",
		Cause: transitions.Cause{Code: "fraud", Text: "the address does not exist", Actor: "anna"},
	}); err != nil {
		panic(err)
	}

	why, err := inspect.Explain(ctx, orders, "o-1")
	if err != nil {
		panic(err)
	}

	for _, step := range why.Steps {
		fmt.Println(strings.TrimSpace(fmt.Sprint(step.ID, " ", step.Event, " ", step.To, " ", step.Cause.Text)))
	}

	for _, option := range why.Options {
		if option.Legal {
			fmt.Println("may", option.Event)
		}
	}
	// Output:
	// 1 place PENDING
	// 2 hold ON_HOLD the address does not exist
	// may release
	// may cancel
	// may expire
}
