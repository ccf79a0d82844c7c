package sandbox_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// The bank acts once per key: a repeat gets the first answer, and a voided key can never be used.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(sandbox.Table("bank"))
	defer closeAll()

	bank, err := sandbox.New(sandbox.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "bank"})
	if err != nil {
		panic(err)
	}

	sale := payments.Request{Key: "o-1/sale", OrderID: "o-1", Amount: 2500, Currency: "EUR"}

	first, err := bank.Sale(ctx, sale)
	if err != nil {
		panic(err)
	}

	again, err := bank.Sale(ctx, sale)
	fmt.Println("the same sale:", first == again, err)

	if err := bank.Void(ctx, "o-2/sale"); err != nil {
		panic(err)
	}

	sale.Key = "o-2/sale"
	_, err = bank.Sale(ctx, sale)
	fmt.Println(err)
	// Output:
	// the same sale: true <nil>
	// sandbox: o-2/sale: payment voided
}
