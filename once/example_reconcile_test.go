package once_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// The bank's answer is lost. The next call asks the bank what became of the charge, and does
// not charge again.
func ExampleConfig_reconcile() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	charges, err := once.New(once.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "charge/v1",
		Reconcile: func(_ context.Context, r once.Record) (once.Resolution, error) {
			fmt.Println("the bank is asked about", r.Key)
			return once.Resolution{Status: once.StatusCompleted, Result: []byte("charge 7")}, nil
		},
	})
	if err != nil {
		panic(err)
	}

	charge := func(context.Context, *once.Claim) ([]byte, error) {
		fmt.Println("the bank is called")
		return nil, fmt.Errorf("no answer: %w", once.ErrAmbiguous)
	}

	for range 2 {
		result, replayed, err := charges.Do(context.Background(), "o-1", nil, charge)
		fmt.Printf("%q, replayed: %t, failed: %t\n", result, replayed, err != nil)
	}
	// Output:
	// the bank is called
	// "", replayed: false, failed: true
	// the bank is asked about o-1
	// "charge 7", replayed: true, failed: false
}
