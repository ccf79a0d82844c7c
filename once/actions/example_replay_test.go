package actions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// A link gives its answer again for ten minutes, to the same request. An hour after its
// expiry it is forgotten: the outcome is the one of a link that was never used.
func ExampleConfig_replayFor() {
	cfg, closeAll := embeddedtest.OpenExample(actions.TableInput("actions"))
	defer closeAll()

	var clock embeddedtest.Clock

	all, err := actions.New(actions.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "actions", Keys: []actions.Key{actions.NewKey(1)},
		ReplayFor: 10 * time.Minute,
		Retention: time.Hour,
		Events: actions.Events{Decided: func(verb string, o actions.Outcome) {
			fmt.Println(verb, o)
		}},
		Now: clock.Now,
	})
	must(err)

	ctx := context.Background()
	link, err := all.Create(ctx, actions.Spec{ExpiresAt: clock.Now().Add(time.Hour)})
	must(err)

	for _, after := range []time.Duration{0, 9 * time.Minute, 2 * time.Minute, 2 * time.Hour} {
		clock.Advance(after)

		_, err := all.Consume(ctx, actions.Request{ID: link.ID, ConsumeID: "form-1"})
		must(err)
	}
	// Output:
	// consume consumed
	// consume consumed
	// consume already_used
	// consume expired
}
