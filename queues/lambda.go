package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lambda runs a handler behind a Lambda event source mapping that has
// ReportBatchItemFailures set. Handle fits lambda.Start. Handler must be set.
//
// The mapping receives, counts and deletes. What the handler does not answer with
// Done is reported as failed and comes again when the queue's visibility time-out is
// over, until the queue's redrive policy takes it; an outcome's pause and reason
// cannot be told to the mapping. Set SQS and QueueURL and they are: then a message
// that is done is deleted at once, so that a function which is killed in the middle
// of a batch repeats none of what was done; pauses become visibility time-outs; and
// rejected messages are sent to DeadLetterURL.
type Lambda struct {
	Handler    Handler
	Middleware []Middleware
	// SQS is the SDK's client and QueueURL the queue behind the mapping. Both or none.
	SQS      sqsAPI
	QueueURL string
	// DeadLetterURL, Attempts and Backoff are as in Config. They need SQS.
	DeadLetterURL string
	Attempts      int
	Backoff       Backoff
	// Concurrency bounds the calls at once. Default 10, the size of a plain batch.
	Concurrency int
	// Timeout bounds one call. Default 30 s.
	Timeout time.Duration
	// Margin is how long before the function's own deadline the handlers' contexts
	// end and no further message is begun: what it takes to report the batch.
	// Default 2 s.
	Margin time.Duration
}

// BatchResponse names the messages that are not done. The mapping deletes the others.
type BatchResponse struct {
	Failures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure is one message that is not done, by its ID.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handle runs one batch, given as the JSON of the event: messages side by side, those
// of one group of a FIFO queue in order. Behind a message that is not done, its
// group's later ones are not begun; they are reported, too. The error is for an event
// that cannot be read at all, or for a Lambda that is not set up.
func (l Lambda) Handle(ctx context.Context, event json.RawMessage) (BatchResponse, error) {
	b, err := l.batch()
	if err != nil {
		return BatchResponse{}, err
	}

	messages, err := decodeEvent(event)
	if err != nil {
		return BatchResponse{}, fmt.Errorf("queues: read the batch: %w", err)
	}

	work := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		work, cancel = context.WithDeadlineCause(ctx, deadline.Add(-b.margin), ErrStopped)
		defer cancel()
	}
	var g errgroup.Group
	g.SetLimit(b.concurrency)

	for _, lane := range lanes(messages, Message.lane) {
		g.Go(func() error {
			b.run(ctx, work, lane)
			return nil
		})
	}
	_ = g.Wait() // no lane returns an error

	out := BatchResponse{Failures: []BatchItemFailure{}}
	for _, m := range messages {
		if !b.done[m.ID] {
			out.Failures = append(out.Failures, BatchItemFailure{m.ID})
		}
	}

	return out, nil
}

// lambdaBatch is one invocation.
type lambdaBatch struct {
	queue       *queue // nil without a client
	handler     Handler
	policy      policy
	timeout     time.Duration
	margin      time.Duration
	concurrency int

	mu   sync.Mutex
	done map[string]bool
}

func (l Lambda) batch() (*lambdaBatch, error) {
	switch {
	case l.Handler == nil:
		return nil, errors.New("queues: Lambda.Handler is not set")
	case (l.SQS == nil) != (l.QueueURL == ""):
		return nil, errors.New("queues: set both of Lambda.SQS and Lambda.QueueURL, or none")
	case l.DeadLetterURL != "" && l.SQS == nil:
		return nil, errors.New("queues: Lambda.DeadLetterURL needs Lambda.SQS")
	}
	or(&l.Concurrency, 10)
	or(&l.Timeout, 30*time.Second)
	or(&l.Margin, 2*time.Second)

	p, err := newPolicy(l.Attempts, l.Backoff)
	if err != nil {
		return nil, err
	}

	b := &lambdaBatch{handler: wrap(l.Handler, l.Middleware), policy: p, timeout: l.Timeout, margin: l.Margin,
		concurrency: l.Concurrency, done: map[string]bool{}}
	if l.SQS != nil {
		b.queue = &queue{api: l.SQS, url: l.QueueURL, deadLetters: l.DeadLetterURL}
	}

	return b, nil
}

// run handles one lane. The whole of ctx is there to tell the queue what became of a
// message; work is the part of it that handlers may use.
func (b *lambdaBatch) run(ctx, work context.Context, lane []Message) {
	for i, m := range lane {
		if work.Err() != nil {
			b.giveBack(ctx, lane[i:])
			return
		}
		call, cancel := context.WithTimeoutCause(work, b.timeout, ErrTimeout)
		outcome := b.policy.judge(invoke(call, b.handler, m), m, 0)
		cancel()

		if !b.settle(ctx, m, outcome) {
			b.giveBack(ctx, lane[i+1:])
			return
		}
		b.mu.Lock()
		b.done[m.ID] = true
		b.mu.Unlock()
	}
}

// giveBack makes messages that were not begun visible, so that they hold up their group
// no longer than the one before them.
func (b *lambdaBatch) giveBack(ctx context.Context, rest []Message) {
	if b.queue == nil {
		return
	}

	for batch := range slices.Chunk(rest, maxBatch) {
		_, _ = b.queue.hide(ctx, batch, 0) // else they come when their visibility time-outs are over
	}
}

// settle tells the queue, as far as it can be told, and reports whether the message
// is finished.
func (b *lambdaBatch) settle(ctx context.Context, m Message, o Outcome) bool {
	if b.queue == nil {
		return o.Kind == KindDone
	}

	if o.Kind == KindReject && b.queue.deadLetters != "" {
		if b.queue.deadLetter(ctx, m, o.Err) != nil {
			return false
		}
		o = Done()
	}

	if o.Kind == KindDone {
		_, _ = b.queue.delete(ctx, []Message{m}) // else the mapping deletes it
		return true
	}
	_, _ = b.queue.hide(ctx, []Message{m}, b.policy.pause(o, m)) // else it comes when its visibility time-out is over

	return false
}

// lambdaRecord is a message in the form of the event.
type lambdaRecord struct {
	MessageID     string            `json:"messageId"`
	ReceiptHandle string            `json:"receiptHandle"`
	Body          string            `json:"body"`
	Attributes    map[string]string `json:"attributes"`
	Message       map[string]struct {
		StringValue string `json:"stringValue"`
		BinaryValue []byte `json:"binaryValue"`
		DataType    string `json:"dataType"`
	} `json:"messageAttributes"`
	EventSourceARN string `json:"eventSourceARN"`
}

func decodeEvent(event json.RawMessage) ([]Message, error) {
	var in struct{ Records []lambdaRecord }
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}

	out := make([]Message, len(in.Records))
	for i, r := range in.Records {
		if r.MessageID == "" {
			return nil, fmt.Errorf("record %d has no messageId", i)
		}
		m := Message{ID: r.MessageID, Body: r.Body, Queue: r.EventSourceARN[strings.LastIndexByte(r.EventSourceARN, ':')+1:], receipt: r.ReceiptHandle}
		m.system(r.Attributes)

		for name, a := range r.Message {
			if m.Attributes == nil {
				m.Attributes = make(map[string]Attribute, len(r.Message))
			}
			m.Attributes[name] = Attribute{Type: a.DataType, Text: a.StringValue, Binary: a.BinaryValue}
		}
		out[i] = m
	}

	return out, nil
}

// system reads the attributes that the service itself gives a message.
func (m *Message) system(attributes map[string]string) {
	m.GroupID = attributes["MessageGroupId"]

	m.DeduplicationID = attributes["MessageDeduplicationId"]
	m.SequenceNumber = attributes["SequenceNumber"]
	m.Receives, _ = strconv.Atoi(attributes["ApproximateReceiveCount"]) // absent: 0
	if ms, err := strconv.ParseInt(attributes["SentTimestamp"], 10, 64); err == nil {
		m.SentAt = time.UnixMilli(ms)
	}
}
