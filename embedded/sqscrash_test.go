package embedded

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// crashQueues is how many queues the child process works on, one writer each.
const crashQueues = 4

// hasQueues reports whether the queues for the child process exist.
func hasQueues(api *sqs.Client) bool {
	out, err := api.ListQueues(context.Background(), &sqs.ListQueuesInput{})
	return err == nil && len(out.QueueUrls) > 0
}

// crashQueue sends five messages and deletes the three oldest, in a loop. It writes
// "s <queue> <n>" after a message is sent and "d <queue> <n>" after it is deleted.
func crashQueue(api *sqs.Client, w int) error {
	ctx := context.Background()

	out, err := api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(fmt.Sprintf("crash-%d", w))})
	if err != nil {
		return err
	}

	for n := 1; ; n++ {
		if _, err := api.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: aws.String(fmt.Sprint(n))}); err != nil {
			return err
		}
		fmt.Printf("s %d %d\n", w, n)

		if n%5 != 0 {
			continue
		}

		got, err := api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: out.QueueUrl, MaxNumberOfMessages: 3, VisibilityTimeout: 1})
		if err != nil {
			return err
		}

		for _, m := range got.Messages {
			if _, err := api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: out.QueueUrl, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
			fmt.Printf("d %d %s\n", w, *m.Body)
		}
	}
}

// reported has the numbers that the child process has written about one queue.
type reported struct {
	sent    int
	deleted map[int]bool
}

// checkAfterCrash receives everything that is left. Every message that was reported as sent
// and not as deleted must be there, except one whose deletion was not reported yet. No
// message that was reported as deleted may be there. One further message may have been sent.
func (q *queueing) checkAfterCrash(w int, reported *reported) {
	q.t.Helper()
	left := map[int]bool{}

	var visible, inFlight, delayed int
	if _, err := fmt.Sscan(q.counts(), &visible, &inFlight, &delayed); err != nil {
		q.t.Fatal(err)
	}

	for len(left) < visible+inFlight { // messages in flight are visible again within a second
		got := q.receive(10, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds, in.VisibilityTimeout = 2, 43200 })
		if len(got) == 0 {
			q.t.Fatalf("queue %d: %d messages of %d+%d are received", w, len(left), visible, inFlight)
		}

		for _, m := range got {
			left[atoi(q.t, *m.Body)] = true
		}
	}

	missing := 0
	for n := 1; n <= reported.sent; n++ {
		switch {
		case reported.deleted[n] && left[n]:
			q.t.Errorf("queue %d: message %d is back after its deletion", w, n)
		case !reported.deleted[n] && !left[n]:
			missing++
		}
	}

	for n := range left {
		if n > reported.sent+1 {
			q.t.Errorf("queue %d: message %d was never sent", w, n)
		}
	}

	if missing > 1 {
		q.t.Errorf("queue %d: %d messages are lost", w, missing)
	}
}

// TestKillKeepsMessages kills a process that sends and deletes messages several times.
func TestKillKeepsMessages(t *testing.T) {
	t.Parallel() // waits for the disk most of the time

	if testing.Short() {
		t.Skip("TestKillKeepsAcknowledgedWrites has the same processes, and TestQueueModel the queues")
	}

	dir := t.TempDir()
	f := reopen(t, dir)

	q := newQueueing(f, "crash-0", nil)
	for w := range crashQueues {
		q.create(fmt.Sprintf("crash-%d", w), nil)
	}
	f.table("orders", "id", "", "NEW_IMAGE")
	f.table("accounts", "id", "", "")

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	for range kills() {
		queues := make([]reported, crashQueues)
		for w := range queues {
			queues[w].deleted = map[int]bool{}
		}
		killAfter(t, dir, 800, func(line string) bool {
			var w, n int
			if _, err := fmt.Sscanf(line, "s %d %d", &w, &n); err == nil {
				queues[w].sent = n
			} else if _, err := fmt.Sscanf(line, "d %d %d", &w, &n); err == nil {
				queues[w].deleted[n] = true
			}

			return !slices.ContainsFunc(queues, func(q reported) bool { return q.sent == 0 })
		})

		f := openOnce(t, dir)
		q := &queueing{fixture: f, api: sqs.NewFromConfig(f.AWSConfig())}
		for w := range queues {
			q.url = fmt.Sprintf("http://x/0/crash-%d", w)
			q.checkAfterCrash(w, &queues[w])

			if _, err := q.api.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.url}); err != nil {
				t.Fatal(err)
			}
		}

		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
