package once_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/once"
	"ratchet/once/keys"
)

// A refund is made once, however often it is requested. The example uses an embedded engine
// in place of DynamoDB.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "once")
	defer func() { _ = os.RemoveAll(dir) }()

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close() }()

	db := dynamodb.NewFromConfig(engine.AWSConfig())
	if _, err := db.CreateTable(ctx, once.TableInput("once")); err != nil {
		fmt.Println(err)
		return
	}

	errClosed := errors.New("account closed")

	refunds, err := once.New(once.Config{DynamoDB: db, Table: "once", Operation: "refund/v1", PayloadJSON: true,
		Failures: map[string]error{"Closed": errClosed}})
	if err != nil {
		fmt.Println(err)
		return
	}
	type refund struct {
		Order  string
		Amount int64
	}

	key, _ := keys.Of("acme", "refund/v1", "o-1")
	for range 2 {
		receipt, replayed, err := once.Do(ctx, refunds, key, refund{"o-1", 1250}, func(context.Context, *once.Claim) (string, error) {
			fmt.Println("the bank is asked")
			return "receipt 7", nil
		})
		fmt.Println(receipt, replayed, err)
	}
	_, _, err = once.Do(ctx, refunds, key, refund{"o-1", 9999}, func(context.Context, *once.Claim) (string, error) { return "", nil })
	fmt.Println("another amount:", errors.Is(err, once.ErrMismatch))

	for range 2 {
		_, replayed, err := once.Do(ctx, refunds, "o-2", refund{"o-2", 1}, func(context.Context, *once.Claim) (string, error) { return "", errClosed })
		fmt.Println("final:", errors.Is(err, errClosed), replayed)
	}
	// Output:
	// the bank is asked
	// receipt 7 false <nil>
	// receipt 7 true <nil>
	// another amount: true
	// final: true false
	// final: true true
}
