package queues

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lambda runs a handler behind a Lambda event source mapping that has
// ReportBatchItemFailures set. Handle fits lambda.Start. Handler is required.
//
// The mapping receives, counts and deletes. A message whose handler does not answer Done
// is reported as failed. It comes again when the queue's visibility timeout is over,
// until the queue's redrive policy moves it; the mapping has no place for an outcome's
// wait and reason.
//
// With SQS and QueueURL set, the outcome takes effect at once. A message that is done is
// deleted, so a function that is killed in the middle of a batch repeats nothing that was
// done; waits become visibility timeouts; and rejected messages go to DeadLetterURL.
type Lambda struct {
	// Handler gets the messages.
	Handler Handler
	// Middleware wraps Handler, the first outermost.
	Middleware []Middleware
	// SQS is the SDK's client and QueueURL the queue behind the mapping. Both or none.
	SQS      sqsAPI
	QueueURL string
	// DeadLetterURL, Attempts and Backoff are as in Config. They need SQS.
	DeadLetterURL string
	Attempts      int
	Backoff       Backoff
	// Concurrency bounds the calls of the handler that run at a time. Default 10, the
	// size of a batch of a mapping without a batch window.
	Concurrency int
	// Timeout bounds one call of the handler. Default 30 s.
	Timeout time.Duration
	// Margin is how long before the function's own deadline the handlers' contexts end
	// and no further handler is called: the time to report the batch. Default 2 s.
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

// Handle runs one batch, given as the JSON of the event: messages side by side, those of
// one group of a FIFO queue in order. Behind a message that is not done, no handler is
// called for the later ones of its group; they are reported, too. The error is for an
// event that cannot be read, or for a Lambda that is not set up.
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

	for _, sequence := range byGroup(messages, Message.orderedBy) {
		g.Go(func() error {
			b.handleInOrder(ctx, work, sequence)
			return nil
		})
	}
	_ = g.Wait() // no goroutine returns an error

	out := BatchResponse{Failures: []BatchItemFailure{}} // null would fail the whole batch
	for _, m := range messages {
		if !b.done[m.ID] {
			out.Failures = append(out.Failures, BatchItemFailure{ItemIdentifier: m.ID})
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
	done map[string]bool // by message ID
}

// batch checks the configuration and fills in its defaults.
func (l Lambda) batch() (*lambdaBatch, error) {
	b := &lambdaBatch{
		policy:      newPolicy(l.Attempts, l.Backoff),
		timeout:     cmp.Or(l.Timeout, 30*time.Second),
		margin:      cmp.Or(l.Margin, 2*time.Second),
		concurrency: cmp.Or(l.Concurrency, 10),
		done:        map[string]bool{},
	}
	if err := errors.Join(l.check(), b.policy.check()); err != nil {
		return nil, err
	}

	b.handler = wrap(l.Handler, l.Middleware)
	if l.SQS != nil {
		b.queue = &queue{api: l.SQS, url: l.QueueURL, deadLetters: l.DeadLetterURL}
	}

	return b, nil
}

// check returns every fault of the configuration, as one error.
func (l Lambda) check() error {
	var faults []error
	if l.Handler == nil {
		faults = append(faults, errors.New("queues: Lambda.Handler is not set"))
	}

	if (l.SQS == nil) != (l.QueueURL == "") {
		faults = append(faults, errors.New("queues: set both of Lambda.SQS and Lambda.QueueURL, or none"))
	}

	if l.DeadLetterURL != "" && l.SQS == nil {
		faults = append(faults, errors.New("queues: Lambda.DeadLetterURL needs Lambda.SQS"))
	}

	return errors.Join(faults...)
}

// handleInOrder handles messages one after the other. Handlers run on the context work;
// ctx lasts longer, so that calls to the queue can still be made after it.
func (b *lambdaBatch) handleInOrder(ctx, work context.Context, sequence []Message) {
	for i, m := range sequence {
		if work.Err() != nil {
			b.returnUnread(ctx, sequence[i:])
			return
		}

		call, cancel := context.WithTimeoutCause(work, b.timeout, ErrTimeout)
		outcome := b.policy.limitAttempts(invoke(call, b.handler, m), m, 0)
		cancel()

		if !b.dispose(ctx, m, outcome) {
			b.returnUnread(ctx, sequence[i+1:])
			return
		}

		b.mu.Lock()
		b.done[m.ID] = true
		b.mu.Unlock()
	}
}

// returnUnread makes messages visible that no handler was called for, so that they hold
// up their group no longer than the one before them. Where the call fails, they come
// when their visibility timeouts are over.
func (b *lambdaBatch) returnUnread(ctx context.Context, rest []Message) {
	if b.queue == nil {
		return
	}

	for batch := range slices.Chunk(rest, maxBatch) {
		_, _ = b.queue.changeVisibility(ctx, batch, 0)
	}
}

// dispose does with the message what the handler answered, as far as it can, and reports
// whether the message is finished.
func (b *lambdaBatch) dispose(ctx context.Context, m Message, o Outcome) (finished bool) {
	if b.queue == nil {
		return o.Kind == KindDone
	}

	if o.Kind == KindReject && b.queue.deadLetters != "" {
		if b.queue.sendDeadLetter(ctx, m, o.Err) != nil {
			return false
		}
		o = Done()
	}

	if o.Kind == KindDone {
		_, _ = b.queue.delete(ctx, []Message{m}) // where it fails, the mapping deletes it
		return true
	}

	// Where it fails, the message comes when its visibility timeout is over.
	_, _ = b.queue.changeVisibility(ctx, []Message{m}, b.policy.delay(o, m))

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

// message reads the record.
func (r *lambdaRecord) message() Message {
	m := Message{
		ID:      r.MessageID,
		Body:    r.Body,
		Queue:   r.EventSourceARN[strings.LastIndexByte(r.EventSourceARN, ':')+1:],
		receipt: r.ReceiptHandle,
	}
	m.setSystemAttributes(r.Attributes)

	for name, a := range r.Message {
		m.setAttribute(name, Attribute{Type: a.DataType, Text: a.StringValue, Binary: a.BinaryValue})
	}

	return m
}

func decodeEvent(event json.RawMessage) ([]Message, error) {
	var in struct{ Records []lambdaRecord }
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}

	out := make([]Message, len(in.Records))
	for i := range in.Records {
		r := &in.Records[i]
		if r.MessageID == "" {
			return nil, fmt.Errorf("record %d has no messageId", i)
		}
		out[i] = r.message()
	}

	return out, nil
}
