package crash

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues/requests"
	"ratchet/server"
	"ratchet/tests/program"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestKillNineWhileRequestsComeByTheQueue sends every request twice to the queue of a `ratchet
// dev` that does not consume it. Then it starts a consuming `ratchet dev`, and kills it twice. Each
// request is applied once.
func TestKillNineWhileRequestsComeByTheQueue(t *testing.T) {
	t.Parallel()

	const each = 40

	orders := 15 * *flagLoad
	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	queue := []string{"--requests-queue", "requests.fifo"}

	running := start(t, bin, dir, listen)
	b, err := server.Connect(t.Context(), server.Config{
		EndpointURL:   "http://" + listen,
		RequestsQueue: "requests.fifo",
	}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	if err := b.Init(ctx); err != nil { // creates the queue
		t.Fatal(err)
	}

	var ids []transitions.OrderID
	for i := range orders {
		id := transitions.OrderID(fmt.Sprintf("o-%d", i))
		if _, err := b.Orders.Create(ctx, transitions.NewOrder{
			ID:    id,
			Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}},
			Total: transitions.Money{Amount: 1, Currency: "EUR"},
		}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	sendTwice(ctx, t, b, ids, each)
	running.Stop(t)

	running = start(t, bin, dir, listen, queue...)
	for third := 1; third <= 2; third++ {
		untilMoved(ctx, t, b, ids[0], transitions.TransitionID(third*each/3))
		running.Kill(t)
		running = start(t, bin, dir, listen, queue...)
	}

	for _, id := range ids {
		untilMoved(ctx, t, b, id, each+1)
	}
	untilEmpty(ctx, t, b)

	for _, id := range ids {
		o, _, err := b.Orders.Get(ctx, id)
		if err != nil || o.TransitionID != each+1 || o.State != workflow.Pending {
			t.Errorf("order %s is %s at %d, %v", id, o.State, o.TransitionID, err)
		}
	}
	running.Stop(t)
}

// sendTwice sends hold and release alternately to every order, with the transition ids 2 to
// each+1, each request as two messages with different deduplication ids.
func sendTwice(ctx context.Context, t *testing.T, b *server.Backend, ids []transitions.OrderID, each int) {
	t.Helper()

	url, err := b.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("requests.fifo")})
	if err != nil {
		t.Fatal(err)
	}

	for n := range each {
		for _, id := range ids {
			in, err := requests.Input(*url.QueueUrl, transitions.Request{
				OrderID:      id,
				Event:        []workflow.Event{workflow.Hold, workflow.Release}[n%2],
				TransitionID: transitions.TransitionID(n + 2),
			})
			if err != nil {
				t.Fatal(err)
			}

			batch := &sqs.SendMessageBatchInput{QueueUrl: url.QueueUrl}
			for _, twin := range []string{"a", "b"} {
				batch.Entries = append(batch.Entries, sqstypes.SendMessageBatchRequestEntry{
					Id:                     aws.String(twin),
					MessageBody:            in.MessageBody,
					MessageGroupId:         in.MessageGroupId,
					MessageDeduplicationId: aws.String(*in.MessageDeduplicationId + twin),
				})
			}

			if _, err := b.SQS.SendMessageBatch(ctx, batch); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// untilMoved waits until the order's transition id is at least want.
func untilMoved(ctx context.Context, t *testing.T, b *server.Backend, id transitions.OrderID, want transitions.TransitionID) {
	t.Helper()
	waitFor(ctx, t, func() bool {
		o, found, err := b.Orders.Get(ctx, id)
		if err != nil || !found {
			t.Fatalf("order %s: %v, %v", id, found, err)
		}

		return o.TransitionID >= want
	})
}

// untilEmpty waits until the queue has no message, visible or in flight.
func untilEmpty(ctx context.Context, t *testing.T, b *server.Backend) {
	t.Helper()

	url, err := b.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("requests.fifo")})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(ctx, t, func() bool {
		out, err := b.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl:       url.QueueUrl,
			AttributeNames: []sqstypes.QueueAttributeName{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}

		return out.Attributes["ApproximateNumberOfMessages"] == "0" && out.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
	})
}

// waitFor calls done every 5 ms until it returns true.
func waitFor(ctx context.Context, t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		case <-tick.C:
		}
	}
}
