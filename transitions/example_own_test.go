package transitions_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
)

// Attributes of your own change in the write of the transition, under conditions of your own.
func ExampleOwnChange() {
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

	if _, err := orders.Create(ctx, transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"},
		Own:   transitions.Attributes{"picker": &types.AttributeValueMemberS{Value: "ann"}},
	}); err != nil {
		panic(err)
	}

	for _, id := range []transitions.RequestID{"r-1", "r-1", "r-2"} {
		result, err := orders.Apply(ctx, transitions.Request{
			OrderID: "o-1", Event: "hold", RequestID: id,
			Own: transitions.OwnChange{
				Set:    transitions.Attributes{"shelf": &types.AttributeValueMemberS{Value: "B7"}},
				Remove: []string{"picker"},
				If:     transitions.OwnGuards{Exists: []string{"picker"}},
			},
		})
		if err != nil {
			panic(err)
		}

		fmt.Println(result.Verdict, len(result.Order.Own))
	}
	// Output:
	// Applied 1
	// Replayed 1
	// WrongState 1
}
