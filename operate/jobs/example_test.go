package jobs_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/jobs"
)

// A job is stored, and waits for a worker. Meanwhile the kind has no second one.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(jobs.TableInput("jobs"))
	defer closeAll()

	store, err := jobs.NewStore(jobs.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "jobs"})
	if err != nil {
		panic(err)
	}

	n := jobs.New{Kind: jobs.RedriveExecutions, By: "cli:anna", Reason: "the bank was down"}

	j, err := store.Create(ctx, n)
	if err != nil {
		panic(err)
	}
	fmt.Println(j.Kind, j.State)

	_, err = store.Create(ctx, n)
	fmt.Println(err != nil)

	j, err = store.Stop(ctx, "", j.ID)
	fmt.Println(j.State, err)
	// Output:
	// executions-redrive waiting
	// true
	// stopped <nil>
}
