package queues

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// unretried switches the SDK's retries off where calls are repeated by rules of their
// own.
func unretried(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }

// poll takes slots and asks for as many messages. It ends with nil after stop, and with
// an error when polling has failed for too long.
func (c *Consumer) poll(stop, polls, work context.Context) error {
	for {
		n := c.takeSlots(stop)
		if n == 0 {
			return nil
		}
		ms, err := c.receive(polls, n)
		c.freeSlots(n - len(ms))

		if err == nil {
			c.start(stop, work, ms)
			continue
		}

		if polls.Err() != nil {
			continue
		}

		wait, fatal := c.faults.failed(err, c.cfg, time.Now())
		if fatal != nil {
			return fatal
		}
		pause(stop, wait)
	}
}

// takeSlots waits for a slot and takes up to nine more that are free; 0 after stop.
func (c *Consumer) takeSlots(stop context.Context) int {
	select {
	case <-stop.Done():
		return 0
	case c.slots <- struct{}{}:
	}

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

// receive sends one poll.
func (c *Consumer) receive(ctx context.Context, n int) ([]Message, error) {
	began := time.Now()
	call, cancel := context.WithTimeout(ctx, c.cfg.WaitTime+callTimeout)
	defer cancel()

	out, err := c.queue.api.ReceiveMessage(call, &sqs.ReceiveMessageInput{
		QueueUrl: &c.queue.url, MaxNumberOfMessages: int32(n),
		WaitTimeSeconds: seconds(c.cfg.WaitTime), VisibilityTimeout: seconds(c.cfg.Visibility),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	}, unretried)
	if err != nil {
		return nil, fmt.Errorf("queues: receive messages of %s: %w", c.queue.name(), err)
	}
	c.faults.answered(time.Now())

	if f := c.cfg.Events.Polled; f != nil {
		f(len(out.Messages), time.Since(began))
	}

	ms := make([]Message, len(out.Messages))
	for i, m := range out.Messages {
		ms[i] = c.queue.message(m)
	}

	return ms, nil
}

// message reads a message in the form of the SDK.
func (q *queue) message(in types.Message) Message {
	m := Message{ID: aws.ToString(in.MessageId), Body: aws.ToString(in.Body), Queue: q.name(), receipt: aws.ToString(in.ReceiptHandle)}
	m.system(in.Attributes)

	for name, a := range in.MessageAttributes {
		if m.Attributes == nil {
			m.Attributes = make(map[string]Attribute, len(in.MessageAttributes))
		}
		m.Attributes[name] = Attribute{Type: aws.ToString(a.DataType), Text: aws.ToString(a.StringValue), Binary: a.BinaryValue}
	}

	return m
}

// Pauses after failed polls.
const (
	pollPause    = 200 * time.Millisecond
	pollPauseMax = 10 * time.Second
)

// faults counts the polls that failed in a row.
type faults struct {
	mu     sync.Mutex
	row    int
	polled time.Time // the last answered poll
	since  time.Time
	logged sparse
}

func (f *faults) answered(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.row, f.since, f.polled = 0, time.Time{}, now
}

// failed says how long to wait before the next poll, or why to give up.
func (f *faults) failed(err error, cfg Config, now time.Time) (wait time.Duration, fatal error) {
	if hook := cfg.Events.PollFailed; hook != nil {
		hook(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()

	f.row++
	if f.since.IsZero() {
		f.since = now
	}

	if f.logged.due(now) {
		cfg.Log.Warn("polling a queue failed; retrying", "err", err)
	}

	if failing := now.Sub(f.since); incurable(err) && failing >= cfg.FatalAfter {
		return 0, fmt.Errorf("%w (failing for %v)", err, failing.Round(time.Second))
	}
	wait = min(pollPause<<min(f.row-1, 8), pollPauseMax)

	return wait/2 + rand.N(wait/2), nil //nolint:gosec // jitter
}

// incurable recognises errors that go away only when somebody acts.
func incurable(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	switch api.ErrorCode() {
	case "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "InvalidAddress", "InvalidSecurity",
		"AccessDenied", "AccessDeniedException", "UnrecognizedClientException", "InvalidClientTokenId",
		"InvalidSignatureException", "SignatureDoesNotMatch", "MissingAuthenticationTokenException",
		"KmsAccessDenied", "KMS.AccessDeniedException", "KmsDisabled", "KMS.DisabledException":
		return true
	}

	return false
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
