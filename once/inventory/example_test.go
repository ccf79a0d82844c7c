package inventory_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
)

// Of three mugs, one order gets two. The next one would need more than are left.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(inventory.TableInput("inventory"), inventory.DueTableInput("due"))
	defer closeAll()

	stock, err := inventory.New(inventory.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "inventory", DueTable: "due"})
	if err != nil {
		panic(err)
	}

	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	two := []inventory.Line{{SKU: "mug", Quantity: 2}}

	must(stock.Set(ctx, "mug", 3))
	must(stock.Reserve(ctx, "o-1", two))
	must(stock.Reserve(ctx, "o-1", two)) // a repeat changes nothing
	fmt.Println("o-2 is out of stock:", errors.Is(stock.Reserve(ctx, "o-2", two), inventory.ErrOutOfStock))
	must(stock.Commit(ctx, "o-1"))

	level, _, err := stock.Level(ctx, "mug")
	must(err)
	fmt.Printf("%d available, %d reserved, %d sold\n", level.Available, level.Reserved, level.Committed)
	// Output:
	// o-2 is out of stock: true
	// 1 available, 0 reserved, 2 sold
}
