package queues_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
)

// A message is given up after two attempts. The second one follows after 1 s, because the
// service counts whole seconds. A call may take 10 ms.
func ExampleConfig_attempts() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sqs.NewFromConfig(cfg)
	ctx, stop := context.WithCancel(context.Background())

	consumer, err := queues.New(queues.Config{
		SQS: client, QueueURL: createQueue(client, "parcels", "parcel 7"), DeadLetterURL: createQueue(client, "parcels-dead"), PollGrace: -1, Log: embeddedtest.Quiet(),
		Handler: func(ctx context.Context, m queues.Message) queues.Outcome {
			<-ctx.Done()
			fmt.Println("receive", m.Receives, context.Cause(ctx))

			return queues.Retry(0, errors.New("the printer does not answer"))
		},
		Timeout:  10 * time.Millisecond,
		Attempts: 2,
		Backoff:  queues.Backoff{Base: time.Millisecond, Max: time.Millisecond},
		Events: queues.Events{Ended: func(e queues.Ended) {
			fmt.Println(e.Disposition)

			if e.Disposition == queues.DeadLettered {
				stop()
			}
		}},
	})
	if err != nil {
		panic(err)
	}

	fmt.Println(consumer.Run(ctx))
	// Output:
	// receive 1 queues: handler took too long
	// returned
	// receive 2 queues: handler took too long
	// dead_lettered
	// <nil>
}

// After a stop, a running handler may go on for 10 ms. Then its context ends.
func ExampleConfig_drainTimeout() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sqs.NewFromConfig(cfg)
	ctx, stop := context.WithCancel(context.Background())

	consumer, err := queues.New(queues.Config{
		SQS: client, QueueURL: createQueue(client, "parcels", "parcel 7"), PollGrace: -1, Log: embeddedtest.Quiet(),
		Handler: func(ctx context.Context, _ queues.Message) queues.Outcome {
			stop()
			<-ctx.Done()
			fmt.Println("stopped:", errors.Is(context.Cause(ctx), queues.ErrStopped))

			return queues.Retry(0, context.Cause(ctx))
		},
		DrainTimeout: 10 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}

	fmt.Println(consumer.Run(ctx))
	// Output:
	// stopped: true
	// <nil>
}
