package audit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/audit"
)

// An act is written down before it is done. If its process dies in between, it stays without a
// result.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(audit.TableInput("audit"))
	defer closeAll()

	log, err := audit.New(audit.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "audit"})
	if err != nil {
		panic(err)
	}

	for _, order := range []string{"o-1", "o-2"} {
		act, err := log.Begin(ctx, audit.Entry{Who: "cli:anna", Via: "cli", Act: "orders apply", On: order + " cancel", Reason: "fraud"})
		if err != nil {
			panic(err) // the act must not be done
		}

		if order == "o-2" {
			continue // the process dies here
		}

		if err := act.End(ctx, audit.Done, ""); err != nil {
			panic(err)
		}
	}

	acts, _, err := log.List(ctx, audit.Filter{Since: time.Now().Add(-time.Hour)}, "", 10)
	if err != nil {
		panic(err)
	}

	for _, act := range acts {
		fmt.Println(act.Who, act.Act, act.On, act.Result)
	}
	// Unordered output:
	// cli:anna orders apply o-1 cancel done
	// cli:anna orders apply o-2 cancel begun
}
