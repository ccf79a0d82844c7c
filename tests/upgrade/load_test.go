//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/transitions"
	"ratchet/workflow"
)

// clients is how many orders are placed at the same time.
const clients = 6

// load is the clients of the deployment. They place the orders of a plan over HTTP. While servers of two
// versions run, each request goes to both, and the second answer must be the replay of the first.
type load struct {
	plan  scenario.Plan
	queue string // its URL
	sqs   *sqs.Client

	placed atomic.Int64 // orders
	both   atomic.Int64 // requests that both versions have answered

	mu    sync.Mutex
	key   string // of the API
	serve []string
}

// use names the servers that run, by their URLs.
func (l *load) use(urls ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.serve = urls
}

func (l *load) servers() ([]string, string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.serve, l.key
}

// place places the orders from first up to, not including, end. It returns when all are placed.
func (l *load) place(ctx context.Context, first, end int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)

	for i := first; i < end; i++ {
		group.Go(func() error {
			if err := l.order(ctx, i); err != nil {
				return fmt.Errorf("order %s: %w", l.plan.Order(i).ID, err)
			}

			return nil
		})
	}

	return group.Wait()
}

// order places an order, writes a note on it, and cancels some.
func (l *load) order(ctx context.Context, i int) error {
	order := l.plan.Order(i)
	path := "/v1/orders/" + string(order.ID)

	placing := map[string]any{"items": order.Items, "total": order.Total}
	if err := l.twice(ctx, i, http.MethodPut, path, "", placing, http.StatusCreated); err != nil {
		return err
	}
	l.placed.Add(1)

	switch i % 10 {
	case 0, 5:
		// The order may have been paid meanwhile: then it is not edited any more.
		note := map[string]any{"by": "desk", "text": "ring twice"}
		return l.twice(ctx, i, http.MethodPost, path+"/notes", "note", note, http.StatusOK, http.StatusConflict)
	case 1:
		cancel := map[string]any{"event": workflow.Cancel}
		return l.twice(ctx, i, http.MethodPost, path+"/transitions", "cancel", cancel, http.StatusOK, http.StatusConflict)
	case 2:
		return l.cancelByQueue(ctx, order.ID)
	}

	return nil
}

// twice sends a request to one of the servers, and then to another, if there is one, or to the same again.
// Both answers must have the same status, which is one of want, and show the same order and transition.
func (l *load) twice(ctx context.Context, turn int, method, path, key string, body any, want ...int) error {
	var answers [2]answer

	for n := range answers {
		var err error
		if answers[n], err = l.send(ctx, turn+n, method, path, key, body); err != nil {
			return err
		}
	}

	a, b := answers[0], answers[1]
	if a.server != b.server {
		l.both.Add(1)
	}

	if (a.status != want[0] && a.status != want[len(want)-1]) || a.status != b.status {
		return fmt.Errorf("%s %s: %s answered %d %s; %s then %d %s", method, path, a.server, a.status, a.text, b.server, b.status, b.text)
	}

	if a.status < http.StatusBadRequest && (!b.replayed || a.seen != b.seen) {
		return fmt.Errorf("%s %s: %s answered %s; %s then, replayed %t, %s", method, path, a.server, a.text, b.server, b.replayed, b.text)
	}

	return nil
}

// answer is the answer of a server.
type answer struct {
	server   string
	status   int
	replayed bool
	text     string

	// seen must not differ between the versions.
	seen struct {
		OrderID    string
		Verdict    string
		Transition struct {
			TransitionID    int64
			Event, From, To string
			At              string
		}
	}
}

// send sends a request to the server whose turn it is, again and again until one answers that is not
// about to end.
func (l *load) send(ctx context.Context, turn int, method, path, key string, body any) (a answer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}

	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()

	for {
		servers, token := l.servers()

		a, err = call(ctx, servers[turn%len(servers)], method, path, key, token, text)
		if err == nil && a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests {
			return a, nil
		}

		select {
		case <-ctx.Done():
			return a, fmt.Errorf("%s %s: %w; the last answer: %d %s, %w", method, path, ctx.Err(), a.status, a.text, err)
		case <-again.C:
		}
	}
}

// call makes one request.
func call(ctx context.Context, server, method, path, key, token string, body []byte) (a answer, err error) {
	request, err := http.NewRequestWithContext(ctx, method, server+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Ratchet-Reason", "test")

	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	a = answer{server: server, status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true", text: string(text)}

	if err == nil && a.status < http.StatusBadRequest {
		err = json.Unmarshal(text, &a.seen)
	}

	return a, err
}

// cancelByQueue sends the same request twice, as two messages. Workers of either version take them.
func (l *load) cancelByQueue(ctx context.Context, id transitions.OrderID) error {
	in, err := requests.Input(l.queue, transitions.Request{OrderID: id, Event: workflow.Cancel, RequestID: "by-queue"})
	if err != nil {
		return err
	}

	first := *in.MessageDeduplicationId
	for _, twin := range []string{"a", "b"} {
		in.MessageDeduplicationId = aws.String(first + twin)
		if _, err := l.sqs.SendMessage(ctx, in); err != nil {
			return err
		}
	}

	return nil
}

// untilQueueEmpty waits until no request is in the queue, visible or in flight, and checks that only
// requests that came after the order's end were rejected.
func (l *load) untilQueueEmpty(ctx context.Context, t *testing.T, b *server.Backend) {
	t.Helper()

	count := func(url string) string {
		out, err := b.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
		if err != nil {
			t.Fatal(err)
		}

		return out.Attributes["ApproximateNumberOfMessages"] + "+" + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
	}

	until(ctx, t, "the requests' queue to be empty", func() bool { return count(l.queue) == "0+0" })

	dead, err := b.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("requests-dead-letters.fifo")})
	if err != nil {
		t.Fatal(err)
	}

	for {
		out, err := b.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: dead.QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range out.Messages {
			// It came too late. Anything else is a message that its consumer did not understand.
			if why := aws.ToString(m.MessageAttributes[queues.AttributeReason].StringValue); !strings.Contains(why, ": WrongState: ") {
				t.Errorf("a request of the queue was rejected: %s: %s", why, aws.ToString(m.Body))
			}

			if _, err := b.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: dead.QueueUrl, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}

		if len(out.Messages) == 0 {
			return
		}
	}
}
