package payments_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// Money is authorized, captured in part, and given back. Each step has an id and happens once.
func Example() {
	ctx := context.Background()
	money := ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}
	tables := payments.Tables{Payments: "payments", Due: "due"}

	cfg, closeAll := embeddedtest.OpenExample(append(append(money.Inputs(), tables.Inputs()...), sandbox.Table("bank"))...)
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}

	accounts, err := ledger.New(ledger.Config{DynamoDB: db, Tables: money})
	must(err)
	bank, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: "bank"}) // in production: a processor of yours
	must(err)
	pay, err := payments.New(payments.Config{DynamoDB: db, Tables: tables, Ledger: accounts, Processor: bank})
	must(err)

	for _, account := range []ledger.NewAccount{{ID: "processor", Currency: "EUR", Overdraft: true}, {ID: "shop", Currency: "EUR"}} {
		_, _, err := accounts.CreateAccount(ctx, account)
		must(err)
	}

	p, err := pay.Authorize(ctx, payments.NewPayment{
		ID: "p-1", OrderID: "o-1", Payer: "processor", Payee: "shop", Amount: 2500, Currency: "EUR",
	})
	must(err)
	fmt.Println(p.State, p.Capturable)

	for range 2 { // the second call is a repeat
		p, err = pay.Capture(ctx, "p-1", payments.StepRequest{ID: "parcel-1", Amount: 2000})
		must(err)
		fmt.Println("captured", p.Captured)
	}

	_, err = pay.Capture(ctx, "p-1", payments.StepRequest{ID: "parcel-2", Amount: 501})
	fmt.Println("more than was authorized:", errors.Is(err, payments.ErrExceeded))

	p, err = pay.Refund(ctx, "p-1", payments.StepRequest{ID: "broken-mug", Amount: 700})
	must(err)
	shop, _, err := accounts.Account(ctx, "shop")
	must(err)
	fmt.Println("refunded", p.Refunded, "and the shop has", shop.Balance)
	// Output:
	// AUTHORIZED 2500
	// captured 2000
	// captured 2000
	// more than was authorized: true
	// refunded 700 and the shop has 1300
}
