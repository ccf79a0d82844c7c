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

// poll takes slots, asks for as many messages and starts their handlers, again and
// again. It returns nil after stop, and an error when polls have failed for
// Config.FatalAfter. Polls are sent on the context polls; handlers run on work.
func (c *Consumer) poll(stop, polls, work context.Context) error {
	for {
		n := c.takeSlots(stop)
		if n == 0 {
			return nil
		}

		// Each message keeps the slot that was taken for it; Consumer.end frees it.
		received, err := c.receive(polls, n)
		c.freeSlots(n - len(received))

		if err == nil {
			c.start(stop, work, received)
			continue
		}

		// A drain has canceled the poll, which is no failure; takeSlots sees the stop.
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

// takeSlots waits for a slot and takes up to nine more that are free. It returns their
// number, which is 0 after stop.
func (c *Consumer) takeSlots(stop context.Context) int {
	select {
	case <-stop.Done():
		return 0
	case c.slots <- struct{}{}:
	}

	// Both cases may have been ready, and select chooses at random.
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

	// An empty queue answers only after WaitTime, so that time is added to the bound of a call.
	call, cancel := context.WithTimeout(ctx, c.cfg.WaitTime+callTimeout)
	defer cancel()

	out, err := c.queue.api.ReceiveMessage(call, &sqs.ReceiveMessageInput{
		QueueUrl:                    &c.queue.url,
		MaxNumberOfMessages:         int32(n),
		WaitTimeSeconds:             seconds(c.cfg.WaitTime),
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

// failed takes note of a failed poll. It returns how long to wait before the next one, or
// the error with which to give up.
func (c *Consumer) failed(err error) (wait time.Duration, fatal error) {
	if hook := c.cfg.Events.PollFailed; hook != nil {
		hook(err)
	}

	if c.pollLog.Allow() {
		c.cfg.Log.Warn("polling a queue failed; retrying", "err", err)
	}

	failures, lasting := c.outage.failure(time.Now())
	if isFatal(err) && lasting >= c.cfg.FatalAfter {
		return 0, fmt.Errorf("%w (failing for %v)", err, lasting.Round(time.Second))
	}

	return pollBackoff.Delay(failures), nil
}

// isFatal recognizes the errors of ReceiveMessage that last until an operator acts: its
// API reference, "Errors", and the codes of the older query protocol.
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

// state returns the time of the last answered poll and of the first failure since then;
// either is zero when there was none.
func (o *outage) state() (answeredAt, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.answeredAt, o.since
}
