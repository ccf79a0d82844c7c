package ledger_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
)

// Alice puts 10.00 EUR into her account and pays Bob, once.
func Example() {
	ctx := context.Background()
	tables := ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}

	cfg, closeAll := embeddedtest.OpenExample(tables.Inputs()...)
	defer closeAll()

	l, err := ledger.New(ledger.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Tables: tables})
	if err != nil {
		panic(err)
	}

	for _, account := range []ledger.NewAccount{
		{ID: "bank", Currency: "EUR", Overdraft: true}, // the world outside
		{ID: "alice", Currency: "EUR"},
		{ID: "bob", Currency: "EUR"},
	} {
		if _, _, err := l.CreateAccount(ctx, account); err != nil {
			panic(err)
		}
	}

	for _, transfer := range []ledger.Transfer{
		ledger.Move("top-up", "bank", "alice", 1000, "EUR"),
		ledger.Move("rent", "alice", "bob", 700, "EUR"),
		ledger.Move("rent", "alice", "bob", 700, "EUR"), // the answer was lost
		ledger.Move("dinner", "alice", "bob", 700, "EUR"),
	} {
		posted, err := l.Post(ctx, transfer)

		switch {
		case errors.Is(err, ledger.ErrInsufficientFunds):
			fmt.Println(transfer.ID, "has too little money")
		case err != nil:
			panic(err)
		default:
			fmt.Println(transfer.ID, "replayed:", posted.Replayed)
		}
	}

	for _, id := range []string{"bank", "alice", "bob"} {
		account, _, err := l.Account(ctx, id)
		if err != nil {
			panic(err)
		}

		fmt.Println(id, account.Balance)
	}
	// Output:
	// top-up replayed: false
	// rent replayed: false
	// rent replayed: true
	// dinner has too little money
	// bank -1000
	// alice 300
	// bob 700
}
