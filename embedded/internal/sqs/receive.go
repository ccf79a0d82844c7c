package sqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

type receiveRequest struct {
	QueueUrl                    string //nolint:revive // the wire's name
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int64
	VisibilityTimeout           *int64
	WaitTimeSeconds             *int64
	ReceiveRequestAttemptID     string `json:"ReceiveRequestAttemptId"`
}

// received is a message in the answer.
type received struct {
	MessageID              string `json:"MessageId"`
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string    `json:",omitempty"`
	MD5OfMessageAttributes string               `json:",omitempty"`
	MessageAttributes      map[string]attribute `json:",omitempty"`
}

type receiveAnswer struct {
	Messages []received `json:",omitempty"`
}

// check fails for a parameter outside of its range.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
func (in *receiveRequest) check() error {
	const between = "Must be between %d and %d, if provided."
	for _, p := range []struct {
		name   string
		value  *int64
		lo, hi int64
		reason string
	}{
		{name: "MaxNumberOfMessages", value: in.MaxNumberOfMessages, lo: 1, hi: 10, reason: between},
		{name: "VisibilityTimeout", value: in.VisibilityTimeout, lo: 0, hi: 43_200, reason: between},
		// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_send_receive_wait_time_seconds)
		{name: "WaitTimeSeconds", value: in.WaitTimeSeconds, lo: 0, hi: 20, reason: "Must be >= %d and <= %d, if provided."},
	} {
		if p.value != nil && (*p.value < p.lo || *p.value > p.hi) {
			return invalidParameter(p.name, strconv.FormatInt(*p.value, 10), fmt.Sprintf(p.reason, p.lo, p.hi))
		}
	}

	if in.ReceiveRequestAttemptID != "" {
		return unsupported("ReceiveRequestAttemptId")
	}

	return nil
}

// receiveMessage looks for messages until there are some or the wait is over. It sleeps
// without the lock until the queue changes or a hidden message becomes visible.
func (s *Service) receiveMessage(ctx context.Context, in *receiveRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	var deadline time.Time
	for {
		var out []received
		var changed chan struct{}
		var wait time.Duration

		// A caller that gave up must not receive: the messages would stay in flight until
		// their visibility timeout.
		if ctx.Err() != nil {
			return nil, context.Canceled
		}

		// Taken before the clock is read, so that no shift is missed.
		shifted := s.cfg.Clock.Shifted()

		err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) (err error) {
			// The wait counts from the first look, and not from each of the looks.
			if deadline.IsZero() {
				deadline = now.Add(q.wait)
				if in.WaitTimeSeconds != nil {
					deadline = now.Add(time.Duration(*in.WaitTimeSeconds) * time.Second)
				}
			}

			// The channel is taken under the lock, together with the look at the messages: a
			// change after that closes it.
			out, err = s.receiveAvailable(b, q, in, now)
			changed, wait = q.changed, deadline.Sub(now)

			if at, ok := q.nextVisible(); ok {
				wait = min(wait, time.UnixMilli(at).Sub(now))
			}

			return err
		})
		if err != nil {
			return nil, err
		}

		// At the deadline an answer without messages is right, too.
		if len(out) > 0 || !s.cfg.Clock.Now().Before(deadline) {
			return receiveAnswer{out}, nil
		}

		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-shifted:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// receiveAvailable receives the messages that are visible now, up to the number that the
// request asks for.
func (s *Service) receiveAvailable(b *store.Batch, q *queue, in *receiveRequest, now time.Time) ([]received, error) {
	limit := 1
	if in.MaxNumberOfMessages != nil {
		limit = int(*in.MaxNumberOfMessages)
	}

	// At the quota a standard queue fails and a FIFO queue returns no messages.
	// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
	// A batch must not pass the quota either.
	if room := s.maxInFlight - q.inFlight; room < limit {
		if room <= 0 && !q.fifo {
			return nil, wire.Errorf("OverLimit", "The maximum number of in flight messages is reached: %d.", s.maxInFlight)
		}

		limit = room
	}

	hide := q.visibility
	if in.VisibilityTimeout != nil {
		hide = time.Duration(*in.VisibilityTimeout) * time.Second
	}

	var out []received
	for len(out) < limit {
		run := q.nextRun()
		if len(run) == 0 {
			break
		}

		for _, m := range run {
			if len(out) == limit {
				break
			}

			c, err := s.content(q, m)
			if err != nil {
				return out, err
			}

			if moved, err := s.moveToDeadLetters(b, q, m, c, now); err != nil {
				return out, err
			} else if moved {
				// It is a dead letter now and does not count for this receive.
				continue
			}

			if err := q.receive(b, m, now, hide); err != nil {
				return out, err
			}

			out = append(out, s.answer(q, m, c, in))
		}
	}

	return out, nil
}

// content reads a message's content from the disk.
func (s *Service) content(q *queue, m *message) (*content, error) {
	text, ok, err := s.db.Get(contentKey(q.ID, m.seq))
	if err == nil && !ok {
		// The index is built from the states, so a missing content is damage.
		err = errors.New("it is missing")
	}

	if err != nil {
		return nil, fmt.Errorf("read message %d of queue %s: %w", m.seq, q.Name, err)
	}

	return decodeContent(text)
}

// nextRun returns the message to be received next. In a FIFO queue the following messages
// of its group come with it, up to the first delayed one and ten in all.
func (q *queue) nextRun() []*message {
	seq, _, ok := q.ready.Min()
	if !ok {
		return nil
	}

	m := q.messages[seq]
	if !q.fifo {
		return []*message{m}
	}

	var run []*message
	for _, seq := range q.groups[m.Group].seqs {
		// A group must not skip a hidden message. No receive returns more than ten.
		if _, hidden := q.hidden.Order(seq); hidden || len(run) == 10 {
			break
		}

		run = append(run, q.messages[seq])
	}

	return run
}

// receive marks the message as received and hides it.
func (q *queue) receive(b *store.Batch, m *message, now time.Time, hide time.Duration) error {
	m.Received = now.UnixMilli()
	m.Visible = now.Add(hide).UnixMilli()
	if m.First == 0 {
		m.First = m.Received
	}

	m.Receives++
	m.Tries++
	m.Nonce = rand.Uint64() //nolint:gosec // it distinguishes receives and protects nothing
	q.hide(m, true)

	// Also with a timeout of 0: the message is in flight until the next advance shows it again.
	return q.storeState(b, m)
}

// moveToDeadLetters moves a message that has used up its receives to the dead-letter
// queue and reports whether it did. The message stays when that queue does not exist.
func (s *Service) moveToDeadLetters(b *store.Batch, q *queue, m *message, c *content, now time.Time) (bool, error) {
	if q.redrive == nil || m.Tries < q.redrive.maxReceives {
		return false, nil
	}

	target := s.byARN(q.redrive.target)
	// Without a target the message is received as before.
	if target == nil || target == q {
		return false, nil
	}

	// The target's expired messages and ids go before it takes a new message.
	target.advance(b, now.UnixMilli())
	c.Source = s.arn(q.Name)
	state := message{
		Sent:     m.Sent,
		Visible:  now.UnixMilli(),
		First:    m.First,
		Receives: m.Receives,
	}

	// The retention of a dead letter counts from the first send in a standard queue, and
	// from the move in a FIFO queue.
	// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
	if target.fifo {
		state.Sent = now.UnixMilli()
	}

	if _, err := target.enqueue(b, c, state, now); err != nil {
		return false, err
	}

	q.remove(b, m)

	return true, nil
}

// answer returns the message with the attributes that the request asks for.
func (s *Service) answer(q *queue, m *message, c *content, in *receiveRequest) received {
	out := received{
		MessageID:     c.ID,
		ReceiptHandle: receipt{queue: q.ID, message: m.seq, nonce: m.Nonce}.String(),
		MD5OfBody:     digest([]byte(c.Body)),
		Body:          c.Body,
		Attributes:    s.systemAttributes(q, m, c),
	}

	requested := slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)
	if !slices.Contains(requested, "All") {
		// The request names each attribute that it wants. By default there is none.
		maps.DeleteFunc(out.Attributes, func(name, _ string) bool { return !slices.Contains(requested, name) })
	}

	for name, a := range c.Attributes {
		if attributeRequested(name, in.MessageAttributeNames) {
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]attribute{}
			}
			out.MessageAttributes[name] = a
		}
	}

	// The digest covers the returned attributes only, so that the receiver can check it.
	out.MD5OfMessageAttributes = attributesDigest(out.MessageAttributes)

	return out
}

// systemAttributes returns all system attributes of a message.
func (s *Service) systemAttributes(q *queue, m *message, c *content) map[string]string {
	all := map[string]string{
		"SenderId":                         s.cfg.AccountID,
		"SentTimestamp":                    strconv.FormatInt(c.Sent, 10),
		"ApproximateReceiveCount":          strconv.FormatInt(m.Receives, 10),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.First, 10),
		"MessageGroupId":                   c.Group,
		"MessageDeduplicationId":           c.Dedup,
		traceHeader:                        c.Trace,
		"DeadLetterQueueSourceArn":         c.Source,
	}
	if q.fifo {
		all["SequenceNumber"] = sequence(m.seq)
	}

	// Attributes without a value, as MessageGroupId in a standard queue, are left out.
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })

	return all
}

// attributeRequested reports whether the request names a message attribute: by its name,
// by "prefix.*", or by "All" or "*".
// Source of "*": LocalStack's recordings of AWS (tests/aws/services/sqs, test_receive_message_message_attribute_names_filters)
func attributeRequested(name string, asked []string) bool {
	return slices.ContainsFunc(asked, func(a string) bool {
		prefix, all := strings.CutSuffix(a, ".*")
		return a == name || a == "All" || a == "*" || all && strings.HasPrefix(name, prefix)
	})
}
