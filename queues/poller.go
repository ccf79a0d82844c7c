package queues

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/internal/worker"
)

// pollBackoff has the waits after failed polls.
var pollBackoff = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}

// maxPollers is the most polls that a consumer has open at a time.
const maxPollers = 4

// withoutRetries turns the SDK's retries off for the calls that the consumer retries by
// rules of its own.
func withoutRetries(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }

// poll repeats three steps: it takes free slots, receives up to as many messages, and starts their
// handlers. It returns nil after stop. It returns an error if polls have failed for
// Config.fatalAfter and only an operator can end the failures. Polls have the context polls,
// handlers have work.
func (c *Consumer) poll(stop, polls, work context.Context) error {
	for {
		n := c.takeSlots(stop)
		if n == 0 {
			return nil
		}

		// A received message keeps a slot until Consumer.end frees it. The other slots are free
		// again.
		received, err := c.receive(polls, n)
		c.freeSlots(n - len(received))

		if err == nil {
			c.start(stop, work, received)
			continue
		}

		// The drain has canceled the poll, so this is not a failure. takeSlots ends the loop.
		if polls.Err() != nil {
			continue
		}

		wait, fatal := c.failed(err)
		if fatal != nil {
			return fatal
		}
		worker.Wait(stop, wait)
	}
}

// takeSlots waits for a free slot, and takes up to nine further free slots. It returns the number
// of slots that it has taken, 0 after stop.
func (c *Consumer) takeSlots(stop context.Context) int {
	select {
	case <-stop.Done():
		return 0
	case c.slots <- struct{}{}:
	}

	// If both cases are ready, select chooses at random, so stop is checked again.
	if stop.Err() != nil {
		c.freeSlots(1)
		return 0
	}

	for n := 1; n < maxBatch; n++ {
		select {
		case c.slots <- struct{}{}:
		default:
			return n
		}
	}

	return maxBatch
}

func (c *Consumer) freeSlots(n int) {
	for range n {
		<-c.slots
	}
}

// receive sends one poll for up to n messages.
func (c *Consumer) receive(ctx context.Context, n int) ([]Message, error) {
	began := time.Now()

	// The service answers for an empty queue only after waitTime, so the call may take that much
	// longer.
	call, cancel := context.WithTimeout(ctx, c.cfg.waitTime+callTimeout)
	defer cancel()

	out, err := c.queue.api.ReceiveMessage(call, &sqs.ReceiveMessageInput{
		QueueUrl:                    &c.queue.url,
		MaxNumberOfMessages:         int32(n),
		WaitTimeSeconds:             seconds(c.cfg.waitTime),
		VisibilityTimeout:           seconds(c.cfg.Visibility),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	}, withoutRetries)
	if err != nil {
		return nil, fmt.Errorf("queues: receive messages of %s: %w", c.queue.name(), err)
	}
	c.outage.end(time.Now())

	if hook := c.cfg.Events.Polled; hook != nil {
		hook(len(out.Messages), time.Since(began))
	}

	received := make([]Message, len(out.Messages))
	for i, m := range out.Messages {
		received[i] = c.queue.message(m)
	}

	return received, nil
}

// message reads a message in the form of the SDK.
func (q *queue) message(in types.Message) Message {
	m := Message{
		ID:      aws.ToString(in.MessageId),
		Body:    aws.ToString(in.Body),
		Queue:   q.name(),
		receipt: aws.ToString(in.ReceiptHandle),
	}
	m.setSystemAttributes(in.Attributes)

	for name, a := range in.MessageAttributes {
		m.setAttribute(name, Attribute{
			Type:   aws.ToString(a.DataType),
			Text:   aws.ToString(a.StringValue),
			Binary: a.BinaryValue,
		})
	}

	return m
}

// failed notes a failed poll. It returns the wait before the next poll, or the error with which
// poll ends.
func (c *Consumer) failed(err error) (wait time.Duration, fatal error) {
	if hook := c.cfg.Events.PollFailed; hook != nil {
		hook(err)
	}

	if c.pollLog.Allow() {
		c.cfg.Log.Warn("polling a queue failed; retrying", "err", err)
	}

	failures, lasting := c.outage.failure(time.Now())
	if isFatal(err) && lasting >= c.cfg.fatalAfter {
		return 0, fmt.Errorf("%w (failing for %v)", err, lasting.Round(time.Second))
	}

	return pollBackoff.Delay(failures), nil
}

// isFatal recognizes the errors of ReceiveMessage that only an operator can end. The codes are from
// the "Errors" of its API reference and from the older query protocol.
func isFatal(err error) bool {
	return worker.IsRefusal(err, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "InvalidAddress", "InvalidSecurity",
		"KmsAccessDenied", "KMS.AccessDeniedException", "KmsDisabled", "KMS.DisabledException")
}

// outage counts the polls that failed in a row.
type outage struct {
	mu         sync.Mutex
	failures   int
	since      time.Time // the first failure; zero while polls are answered
	answeredAt time.Time // the last answered poll
}

// end notes an answered poll.
func (o *outage) end(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures, o.since, o.answeredAt = 0, time.Time{}, now
}

// failure notes a failed poll. It returns how many have failed in a row and for how long.
func (o *outage) failure(now time.Time) (failures int, lasting time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.failures++
	if o.since.IsZero() {
		o.since = now
	}

	return o.failures, now.Sub(o.since)
}

// state returns the time of the last answered poll, zero if none was answered, and of the first
// failed poll since then, zero if none has failed.
func (o *outage) state() (answeredAt, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.answeredAt, o.since
}
