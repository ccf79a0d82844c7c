package ledger_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
)

// A transfer between two accounts consumes ten write units.
func ExampleConfig_consumed() {
	ctx := context.Background()
	tables := ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}

	cfg, closeAll := embeddedtest.OpenExample(tables.Inputs()...)
	defer closeAll()

	units := 0.0

	l, err := ledger.New(ledger.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Tables: tables,
		Consumed: func(all []types.ConsumedCapacity) {
			for _, c := range all {
				units += aws.ToFloat64(c.CapacityUnits)
			}
		},
	})
	if err != nil {
		panic(err)
	}

	for _, account := range []ledger.NewAccount{{ID: "bank", Currency: "EUR", Overdraft: true}, {ID: "alice", Currency: "EUR"}} {
		if _, _, err := l.CreateAccount(ctx, account); err != nil {
			panic(err)
		}
	}

	units = 0
	_, err = l.Post(ctx, ledger.Move("top-up", "bank", "alice", 1000, "EUR"))
	fmt.Println(units, "units", err)
	// Output: 10 units <nil>
}
