package questions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
)

// A question is asked, answered beside the requests of the process, and read.
func Example() {
	cfg, closeAll := embeddedtest.OpenExample(processes.TableInput("processes"))
	defer closeAll()

	store, err := processes.New(processes.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "processes"})
	if err != nil {
		panic(err)
	}

	desk, err := questions.New(questions.Config{Store: store, Questions: map[string]questions.Question{
		"verify": {Answer: func(_ context.Context, r *questions.Run) error {
			r.Count("orders", 2)
			r.Found(processes.Finding{Kind: "gap", Subject: "o-1", Next: "rebuild it"})

			return nil
		}},
	}})
	if err != nil {
		panic(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- desk.Run(ctx) }()

	q, err := desk.Ask(ctx, "", "verify", "key:ann")
	for err == nil && q.EndedAt.IsZero() && worker.Wait(ctx, time.Millisecond) {
		q, err = desk.Get(ctx, "", "verify")
	}

	if err != nil {
		panic(err)
	}

	found, err := desk.Findings(ctx, "", q)
	fmt.Println(q.Answer.Counts, q.Answer.Found, found, err)

	stop()
	fmt.Println(<-ended)
	// Output:
	// map[orders:2] 1 [{gap o-1  rebuild it}] <nil>
	// <nil>
}
