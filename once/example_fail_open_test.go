package once_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// During an outage of DynamoDB the work runs without a claim, and an event says so. The event
// names the key by a digest under LogKey, which is safe to log.
func ExampleConfig_failOpen() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	cfg.Retryer = embeddedtest.NoRetries
	outage := embeddedtest.Intercept(&cfg)
	outage.Inject(embeddedtest.LoseRequest("UpdateItem").With(errors.New("connection refused")))

	claims, err := once.New(once.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "mail/v1",
		FailOpen: true,
		LogKey:   []byte("from the secret store"),
		Events: once.Events{Observed: func(e once.Event) {
			fmt.Println("event:", e.Operation, e.Verb, e.Outcome, e.Ref)
		}},
	})
	if err != nil {
		panic(err)
	}

	send := func(context.Context, *once.Claim) ([]byte, error) { return []byte("sent"), nil }

	result, replayed, err := claims.Do(context.Background(), "ada@example.com", nil, send)
	fmt.Println(string(result), replayed, err)
	fmt.Println("find the key's events by", claims.Ref("ada@example.com"))
	// Output:
	// event: mail/v1 claim unavailable 4ab2a61d10d2
	// event: mail/v1 do untracked 4ab2a61d10d2
	// sent false <nil>
	// find the key's events by 4ab2a61d10d2
}
