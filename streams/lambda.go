package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Lambda runs the handlers of a poller in a function behind a Lambda event source mapping. Create
// it with NewLambda and pass its Handle method to lambda.Start.
//
// The mapping must have ReportBatchItemFailures set. The mapping does the work of a Poller: it
// reads the shards, repeats failed batches and counts attempts. So Handler.Retry and
// Handler.Unordered have no effect, and NotYet is a failure like any other. A handler with a Batch
// gets records of different items of one invocation, at most LambdaConfig.Concurrency at once.
//
// The directory examples/lambda has a function with a template of the mapping.
type Lambda struct {
	cfg LambdaConfig
}

// LambdaConfig says how a Lambda handles batches. Handlers must be set.
type LambdaConfig struct {
	// Handlers are as in Config.
	Handlers []Handler
	// If a handler returns a Permanent error, the record is stored in DeadLetterTable through
	// DynamoDB. Set both or neither. Without them the record fails like any other, and the mapping
	// repeats it until the mapping's own limits are reached.
	DynamoDB        dynamoAPI
	DeadLetterTable string
	// Concurrency is how many handler calls may run at once. Default: 16.
	Concurrency int
}

func (c LambdaConfig) check() error {
	faults := checkHandlers("LambdaConfig", c.Handlers)

	if (c.DynamoDB == nil) != (c.DeadLetterTable == "") {
		faults = append(faults, errors.New("streams: LambdaConfig.DynamoDB and LambdaConfig.DeadLetterTable must be set together"))
	}

	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("streams: LambdaConfig.Concurrency is %d, want at least 1", c.Concurrency))
	}

	return errors.Join(faults...)
}

// NewLambda returns a Lambda that is ready to handle batches. It reports every fault
// of cfg.
func NewLambda(cfg LambdaConfig) (*Lambda, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	cfg.Concurrency = cmp.Or(cfg.Concurrency, 16)
	cfg.Handlers = handlersWithDefaults(cfg.Handlers, defaultRetry, defaultHandlerTimeout)

	return &Lambda{cfg: cfg}, nil
}

// BatchResponse names the records that failed. The mapping continues with the lowest of these
// records, so records after it may come again.
type BatchResponse struct {
	Failures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure is one failed record, by its sequence number.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handle handles one batch, given as the JSON of the event. It handles the items in parallel and
// the records of one item in order. After a record that failed, the item's later records are
// reported as failed, too, without a call. A record that cannot be decoded is stored as a dead letter
// of every handler; without DeadLetterTable it fails. Handle returns an error only if it cannot read the
// batch, or a record has no sequence number.
func (l *Lambda) Handle(ctx context.Context, event json.RawMessage) (BatchResponse, error) {
	records, err := decodeLambdaEvent(event)
	if err != nil {
		return BatchResponse{}, fmt.Errorf("streams: read the batch: %w", err)
	}

	items := map[string][]received{}
	for _, r := range records {
		key := itemKey(r.Record)
		items[key] = append(items[key], r)
	}

	var mu sync.Mutex
	var failed []string
	var g errgroup.Group
	g.SetLimit(l.cfg.Concurrency)

	for _, records := range items {
		g.Go(func() error {
			notDone := l.handleItem(ctx, records)

			mu.Lock()
			defer mu.Unlock()

			for _, r := range notDone {
				failed = append(failed, r.SequenceNumber)
			}

			return nil
		})
	}
	_ = g.Wait() // no function returns an error

	// Sorted, so that the same failures give the same answer.
	slices.SortFunc(failed, compareSequence)

	response := BatchResponse{Failures: make([]BatchItemFailure, len(failed))}
	for i, sequence := range failed {
		response.Failures[i].ItemIdentifier = sequence
	}

	return response, nil
}

// handleItem handles the records of one item and returns the records from the first
// failed one on.
func (l *Lambda) handleItem(ctx context.Context, records []received) []received {
	for i, r := range records {
		if l.handle(ctx, r) != nil {
			return records[i:]
		}
	}

	return nil
}

func (l *Lambda) handle(ctx context.Context, r received) error {
	if r.fault != nil {
		return l.putAside(ctx, r)
	}

	return l.handleRecord(ctx, r.Record)
}

// handleRecord calls every handler that accepts the record. A failed handler does not
// keep the record from the others.
func (l *Lambda) handleRecord(ctx context.Context, r Record) error {
	var errs []error
	for i := range l.cfg.Handlers {
		h := &l.cfg.Handlers[i]

		accepted, err := h.accepts(r)
		if !accepted {
			continue
		}

		// Each handler gets a copy of the record with its own name. The mapping counts attempts,
		// but does not pass the number to the function.
		r := r
		r.Handler, r.Attempt, r.Late = h.Name, 1, r.isLate(nil, defaultLateAfter)
		if err == nil {
			err = h.call(ctx, nil, r)
			if errors.Is(err, ErrSkipped) {
				err = nil
			}
		} else {
			// The filter would panic again for the same record, so the error is permanent.
			err = Permanent(err)
		}

		if IsPermanent(err) && l.cfg.DynamoDB != nil {
			deadLetters := &deadLetterTable{api: l.cfg.DynamoDB, table: l.cfg.DeadLetterTable}
			err = deadLetters.store(ctx, r, err, nil)
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// putAside stores a record that cannot be decoded as a dead letter of every handler: no filter can judge
// it. It returns an error if there is no table for it.
func (l *Lambda) putAside(ctx context.Context, r received) error {
	if l.cfg.DynamoDB == nil {
		return r.fault
	}
	deadLetters := &deadLetterTable{api: l.cfg.DynamoDB, table: l.cfg.DeadLetterTable}

	for i := range l.cfg.Handlers {
		r.Handler, r.Attempt = l.cfg.Handlers[i].Name, 1

		body, err := r.body()
		if err != nil {
			return err
		}

		if err := deadLetters.storeBody(ctx, r.Record, body, Permanent(r.fault), nil); err != nil {
			return err
		}
	}

	return nil
}
