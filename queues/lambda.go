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

	"ratchet/internal/worker"
)

// Lambda runs a handler in a function behind a Lambda event source mapping. Create it with
// NewLambda and pass its Handle method to lambda.Start.
//
// The mapping must have ReportBatchItemFailures set. The mapping receives and deletes the messages.
// A message whose handler does not answer Done is reported as failed. It comes again when the
// queue's visibility timeout is over, until the queue's redrive policy moves it. The wait and the
// reason of an outcome are lost, because the mapping does not take them.
//
// With SQS and QueueURL set, the Lambda carries out the outcome itself. A message that is done is
// deleted at once, so that it does not come again if the function is killed in the middle of a
// batch. Waits become visibility timeouts. Rejected messages go to DeadLetterURL.
type Lambda struct {
	cfg    LambdaConfig
	queue  *queue // nil without a client
	policy policy
}

// LambdaConfig says how a Lambda handles batches. Handler is required.
type LambdaConfig struct {
	// Handler gets the messages.
	Handler Handler
	// Middleware wraps Handler, the first outermost. Default none.
	Middleware []Middleware
	// SQS is the SDK's client, QueueURL the queue of the mapping. Set both or neither. Default
	// neither.
	SQS      sqsAPI
	QueueURL string
	// DeadLetterURL, Attempts, Failures and Backoff are as in Config. They need SQS. By default
	// failures are counted in this execution environment, which Lambda may end at any time.
	DeadLetterURL string
	Attempts      int
	Failures      FailureCounter
	Backoff       Backoff
	// Concurrency bounds the calls of the handler that run at the same time. Default 10, the
	// largest batch of a mapping without a batch window.
	Concurrency int
	// Timeout bounds one call of the handler. Default 30 s, more than 0.
	Timeout time.Duration
	// Margin is the time before the function's deadline that is kept free to report the batch. When
	// it begins, the handlers' contexts end and no further handler is called. A Retry after that does
	// not count as an attempt. Default 2 s.
	Margin time.Duration
}

// check returns every fault of the configuration, as one error.
func (c *LambdaConfig) check() error {
	var faults []error
	if c.Handler == nil {
		faults = append(faults, errors.New("queues: LambdaConfig.Handler must be set"))
	}

	if (c.SQS == nil) != (c.QueueURL == "") {
		faults = append(faults, errors.New("queues: LambdaConfig.SQS and LambdaConfig.QueueURL must be set together"))
	}

	if c.DeadLetterURL != "" && c.SQS == nil {
		faults = append(faults, errors.New("queues: LambdaConfig.DeadLetterURL needs LambdaConfig.SQS"))
	}

	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("queues: LambdaConfig.Concurrency is %d, want at least 1", c.Concurrency))
	}

	if c.Timeout < 0 || c.Margin < 0 {
		faults = append(faults, fmt.Errorf("queues: LambdaConfig.Timeout is %v and LambdaConfig.Margin %v, want neither below 0", c.Timeout, c.Margin))
	}

	return errors.Join(faults...)
}

// NewLambda returns a Lambda that is ready to handle batches, or an error that names
// every fault of cfg.
func NewLambda(cfg LambdaConfig) (*Lambda, error) {
	policy := newPolicy(cfg.Attempts, cfg.Backoff, cfg.Failures)
	if err := errors.Join(cfg.check(), policy.check()); err != nil {
		return nil, err
	}

	cfg.Handler = wrap(cfg.Handler, cfg.Middleware)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 10)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.Margin = cmp.Or(cfg.Margin, 2*time.Second)

	l := &Lambda{cfg: cfg, policy: policy}
	if cfg.SQS != nil {
		l.queue = &queue{api: cfg.SQS, url: cfg.QueueURL, deadLetters: cfg.DeadLetterURL}
	}

	return l, nil
}

// BatchResponse names the messages that are not done. The mapping deletes the other messages of the
// batch.
type BatchResponse struct {
	Failures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure is one message that is not done, by its ID.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handle handles one batch, given as the JSON of the event. Messages are handled in parallel, but
// the messages of one group of a FIFO queue in order. If a message is not done, no handler is
// called for the later messages of its group, which are reported as failed, too. Handle returns an
// error only if it cannot decode the batch.
func (l *Lambda) Handle(ctx context.Context, event json.RawMessage) (BatchResponse, error) {
	messages, err := decodeEvent(event)
	if err != nil {
		return BatchResponse{}, fmt.Errorf("queues: read the batch: %w", err)
	}

	// A function that reaches its deadline is killed before it reports, and then all messages of
	// the batch would come again.
	work := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		work, cancel = context.WithDeadlineCause(ctx, deadline.Add(-l.cfg.Margin), ErrStopped)
		defer cancel()
	}

	var mu sync.Mutex
	finished := map[string]bool{} // by message ID
	var g errgroup.Group
	g.SetLimit(l.cfg.Concurrency)

	for _, sequence := range byGroup(messages, Message.orderedBy) {
		g.Go(func() error {
			n := l.handleInOrder(ctx, work, sequence)

			mu.Lock()
			defer mu.Unlock()

			for _, m := range sequence[:n] {
				finished[m.ID] = true
			}

			return nil
		})
	}
	_ = g.Wait() // no function returns an error

	response := BatchResponse{Failures: []BatchItemFailure{}} // null would fail the whole batch
	for _, m := range messages {
		if !finished[m.ID] {
			response.Failures = append(response.Failures, BatchItemFailure{ItemIdentifier: m.ID})
		}
	}

	return response, nil
}

// handleInOrder handles messages one after the other, up to the first message that is not done. It
// returns how many are done. Handlers get the context work. ctx ends later, so that calls to the
// queue can be made when work has ended.
func (l *Lambda) handleInOrder(ctx, work context.Context, sequence []Message) (done int) {
	for i, m := range sequence {
		if work.Err() != nil {
			l.returnUnread(ctx, sequence[i:])
			return i
		}

		call, cancel := context.WithTimeoutCause(work, l.cfg.Timeout, ErrTimeout)
		outcome := invoke(call, l.cfg.Handler, m)
		cancel()

		// The function's deadline has cut the handler short, so the receive does not count as an attempt.
		if outcome.Kind == KindRetry && errors.Is(context.Cause(work), ErrStopped) {
			l.returnUnread(ctx, sequence[i:])
			return i
		}

		finished, deleted := l.dispose(ctx, m, outcome)
		if finished {
			done = i + 1
		}

		// If a finished message is not deleted, the mapping deletes it after the function's report.
		// No later message of its group is handled: if the function were killed before the report,
		// the finished message would come again after them.
		if !finished || !deleted {
			l.returnUnread(ctx, sequence[i+1:])
			return done
		}
	}

	return len(sequence)
}

// returnUnread makes messages visible that no handler has finished, so that they come again
// right after the message before them. If the call fails, they come when their visibility timeouts
// are over.
func (l *Lambda) returnUnread(ctx context.Context, rest []Message) {
	if l.queue == nil {
		return
	}

	for batch := range slices.Chunk(rest, maxBatch) {
		_, _ = l.queue.changeVisibility(ctx, batch, 0)
	}
}

// dispose carries out the handler's answer. It reports whether the message is finished, and whether
// the service has confirmed its deletion. Without a client, deleted is always true: the mapping
// deletes the message.
func (l *Lambda) dispose(ctx context.Context, m Message, o Outcome) (finished, deleted bool) {
	if l.queue == nil {
		return o.Kind == KindDone, true
	}

	// If the counter fails, the message is retried once more than Attempts allows.
	o, n, _ := l.policy.limitAttempts(ctx, o, m)

	if o.Kind == KindReject && l.queue.deadLetters != "" {
		if l.queue.sendDeadLetter(ctx, m, o.Err) != nil {
			return false, false
		}
		o = Done()
	}

	if o.Kind == KindDone {
		return true, l.delete(ctx, m)
	}

	// If the call fails, the message comes again when its visibility timeout is over.
	_, _ = l.queue.changeVisibility(ctx, []Message{m}, l.policy.delay(o, n))

	return false, false
}

// deleteAttempts is how often a Lambda sends a deletion. The SDK retries each attempt that
// fails as a whole.
const deleteAttempts = 3

// delete deletes the message and reports whether the service has confirmed it.
func (l *Lambda) delete(ctx context.Context, m Message) bool {
	for attempt := 1; ; attempt++ {
		failed, err := l.queue.delete(ctx, []Message{m})
		if err == nil && failed[0] == nil {
			return true
		}

		// If the receipt handle is void, another receiver has the message, and no repeat can delete
		// it.
		if attempt == deleteAttempts || ctx.Err() != nil || err == nil && failed[0].isReceiptInvalid() {
			return false
		}
		worker.Wait(ctx, deleteBackoff.Delay(attempt))
	}
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
