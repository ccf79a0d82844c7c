package refusals_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions/refusals"
)

// A refusal is noted after the answer, and counted.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(refusals.TableInput("refusals"))
	defer closeAll()

	log, err := refusals.New(refusals.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "refusals"})
	if err != nil {
		panic(err)
	}

	for range 3 {
		log.Note(refusals.Refusal{Order: "o-1", Event: "cancel", Code: "WrongState", Text: "the order was SHIPPED", Source: "api"})
	}

	if err := log.Flush(ctx); err != nil { // Run does this all the time
		panic(err)
	}

	of, err := log.Of(ctx, "o-1")
	if err != nil {
		panic(err)
	}

	for _, entry := range of.List {
		fmt.Println(entry.Event, entry.Code, entry.Text, entry.Count)
	}
	// Output: cancel WrongState the order was SHIPPED 3
}
