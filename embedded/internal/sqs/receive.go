package sqs

import (
	"context"
	"fmt"
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

// received is a message in the form of the wire.
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

func (in *receiveRequest) check() error {
	for _, p := range []struct {
		name   string
		value  *int64
		lo, hi int64
	}{
		{name: "MaxNumberOfMessages", value: in.MaxNumberOfMessages, lo: 1, hi: 10},
		{name: "VisibilityTimeout", value: in.VisibilityTimeout, lo: 0, hi: 43_200},
		{name: "WaitTimeSeconds", value: in.WaitTimeSeconds, lo: 0, hi: 20},
	} {
		if p.value != nil && (*p.value < p.lo || *p.value > p.hi) {
			return invalidParameter(p.name, strconv.FormatInt(*p.value, 10), fmt.Sprintf("Must be between %d and %d, if provided.", p.lo, p.hi))
		}
	}

	if in.ReceiveRequestAttemptID != "" {
		return unsupported("ReceiveRequestAttemptId")
	}

	return nil
}

// receiveMessage looks for messages until there are some or the wait is over. Between
// looks it holds nothing.
func (s *Service) receiveMessage(ctx context.Context, in *receiveRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	var deadline time.Time
	for {
		var out []received
		var changed chan struct{}
		var wait time.Duration

		if ctx.Err() != nil {
			return nil, context.Canceled // nothing is handed to a caller that has gone
		}

		err := s.on(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) (err error) {
			if deadline.IsZero() {
				deadline = now.Add(q.wait)
				if in.WaitTimeSeconds != nil {
					deadline = now.Add(time.Duration(*in.WaitTimeSeconds) * time.Second)
				}
			}

			out, err = s.take(b, q, in, now)
			changed, wait = q.changed, deadline.Sub(now)
			if at, ok := q.due(); ok {
				wait = min(wait, time.UnixMilli(at).Sub(now))
			}

			return err
		})
		if err != nil {
			return nil, err
		}

		if len(out) > 0 || !time.Now().Before(deadline) {
			return receiveAnswer{out}, nil
		}

		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// take receives up to as many messages as are asked for.
func (s *Service) take(b *store.Batch, q *queue, in *receiveRequest, now time.Time) ([]received, error) {
	most := 1
	if in.MaxNumberOfMessages != nil {
		most = int(*in.MaxNumberOfMessages)
	}

	if room := s.maxInFlight - q.inFlight; room < most {
		if room <= 0 && !q.fifo {
			return nil, wire.Errorf("OverLimit", "The maximum number of in flight messages is reached: %d.", s.maxInFlight)
		}
		most = room
	}

	hide := q.visibility
	if in.VisibilityTimeout != nil {
		hide = time.Duration(*in.VisibilityTimeout) * time.Second
	}

	var out []received
	for len(out) < most {
		run := q.first()
		if len(run) == 0 {
			break
		}

		for _, m := range run {
			if len(out) == most {
				break
			}

			text, ok, err := s.db.Get(contentKey(q.ID, m.seq))
			if err != nil || !ok {
				return out, fmt.Errorf("read message %d of queue %s (there: %v): %w", m.seq, q.Name, ok, err)
			}

			c, err := decodeContent(text)
			if err != nil {
				return out, err
			}

			if moved, err := s.bury(b, q, m, c, now); err != nil {
				return out, err
			} else if moved {
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

// first returns the message that is to be received next, and of a FIFO queue those of
// its group that may come with it.
func (q *queue) first() []*message {
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
		if _, hidden := q.hidden.Order(seq); hidden || len(run) == 10 {
			break // a delayed one
		}
		run = append(run, q.messages[seq])
	}

	return run
}

// receive hands the message to the caller.
func (q *queue) receive(b *store.Batch, m *message, now time.Time, hide time.Duration) error {
	m.Received = now.UnixMilli()
	m.Visible = now.Add(hide).UnixMilli()
	if m.First == 0 {
		m.First = m.Received
	}
	m.Receives++
	m.Tries++
	m.Nonce = rand.Uint64() //nolint:gosec // tells receives apart, protects nothing
	q.hide(m, true)

	return q.storeState(b, m)
}

// bury moves a message that was received often enough to the dead letters. When there
// is no such queue any more, it stays.
func (s *Service) bury(b *store.Batch, q *queue, m *message, c *content, now time.Time) (bool, error) {
	if q.redrive == nil || m.Tries < q.redrive.most {
		return false, nil
	}

	target := s.byARN(q.redrive.target)
	if target == nil || target == q {
		return false, nil
	}
	target.settle(b, now.UnixMilli())
	c.Source = s.arn(q.Name)

	state := message{Sent: m.Sent, Visible: now.UnixMilli(), First: m.First, Receives: m.Receives}
	if target.fifo {
		state.Sent = now.UnixMilli() // developer guide, "Setting-up dead-letter queue retention"
	}

	if _, err := target.put(b, c, state, now); err != nil {
		return false, err
	}
	q.remove(b, m)

	return true, nil
}

// answer is the message as the caller asked for it.
func (s *Service) answer(q *queue, m *message, c *content, in *receiveRequest) received {
	out := received{MessageID: c.ID, ReceiptHandle: receipt{q.ID, m.seq, m.Nonce}.String(), MD5OfBody: digest([]byte(c.Body)), Body: c.Body}
	system := map[string]string{
		"SenderId":                         s.cfg.AccountID,
		"SentTimestamp":                    strconv.FormatInt(c.Sent, 10),
		"ApproximateReceiveCount":          strconv.FormatInt(m.Receives, 10),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.First, 10),
	}
	for name, value := range map[string]string{"MessageGroupId": c.Group, "MessageDeduplicationId": c.Dedup, traceHeader: c.Trace, "DeadLetterQueueSourceArn": c.Source} {
		if value != "" {
			system[name] = value
		}
	}

	if q.fifo {
		system["SequenceNumber"] = sequence(m.seq)
	}

	asked := slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)
	if !slices.Contains(asked, "All") {
		for name := range system {
			if !slices.Contains(asked, name) {
				delete(system, name)
			}
		}
	}

	out.Attributes = system
	for name, a := range c.Attributes {
		if wanted(name, in.MessageAttributeNames) {
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]attribute{}
			}
			out.MessageAttributes[name] = a
		}
	}
	out.MD5OfMessageAttributes = attributesDigest(out.MessageAttributes)

	return out
}

// wanted reports whether a message attribute was asked for: by name, by "prefix.*", or
// with all others.
func wanted(name string, asked []string) bool {
	return slices.ContainsFunc(asked, func(a string) bool {
		prefix, all := strings.CutSuffix(a, ".*")
		return a == name || a == "All" || all && strings.HasPrefix(name, prefix)
	})
}
