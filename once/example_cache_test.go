package once_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// This process remembers 100 finished claims. A repeat of one of them costs no call.
func ExampleConfig_cache() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	calls := embeddedtest.Intercept(&cfg)

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "refund/v1", Cache: 100})
	if err != nil {
		panic(err)
	}

	for range 2 {
		calls.Reset()

		_, replayed, err := claims.Do(context.Background(), "o-1", nil, func(context.Context, *once.Claim) ([]byte, error) { return nil, nil })
		fmt.Println("replayed:", replayed, err, "calls:", len(calls.Calls()))
	}
	// Output:
	// replayed: false <nil> calls: 2
	// replayed: true <nil> calls: 0
}
