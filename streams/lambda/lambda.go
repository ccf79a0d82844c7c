package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

// Function runs the handlers of a poller in a function behind a Lambda event source mapping. Create
// it with New and pass its Handle method to lambda.Start.
//
// The mapping must have ReportBatchItemFailures set. The mapping does the work of a Poller: it
// reads the shards, repeats failed batches and counts attempts. So Handler.Retry and
// Handler.Unordered have no effect, and NotYet is a failure like any other. A handler with a Batch
// gets records of different items of one invocation, at most Config.Concurrency at once.
//
// The directory examples/lambda has a function with a template of the mapping.
type Function struct {
	cfg Config
}

// Config says how a Lambda handles batches. Handlers must be set.
type Config struct {
	// Handlers are as in Config.
	Handlers []streams.Handler
	// If a handler returns a Permanent error, the record is stored in DeadLetterTable through
	// DynamoDB. Set both or neither. Without them the record fails like any other, and the mapping
	// repeats it until the mapping's own limits are reached.
	DynamoDB        store.API
	DeadLetterTable string
	// Concurrency is how many handler calls may run at once. Default: 16.
	Concurrency int
	// Margin is the time before the function's deadline that is kept free to report the batch. When it
	// begins, the contexts of the handlers end, and records that are not handled are reported as failed.
	// Default: 2 s.
	Margin time.Duration
}

func (c Config) check() error {
	faults := calls.Check("LambdaConfig", c.Handlers)

	if (c.DynamoDB == nil) != (c.DeadLetterTable == "") {
		faults = append(faults, errors.New("streams: LambdaConfig.DynamoDB and LambdaConfig.DeadLetterTable must be set together"))
	}

	if c.Margin < 0 {
		faults = append(faults, fmt.Errorf("streams: LambdaConfig.Margin is %v, want none below 0", c.Margin))
	}

	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("streams: LambdaConfig.Concurrency is %d, want at least 1", c.Concurrency))
	}

	return errors.Join(faults...)
}

// New returns a Lambda that is ready to handle batches. It reports every fault
// of cfg.
func New(cfg Config) (*Function, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	cfg.Concurrency, cfg.Margin = cmp.Or(cfg.Concurrency, 16), cmp.Or(cfg.Margin, 2*time.Second)
	cfg.Handlers = calls.WithDefaults(cfg.Handlers, calls.DefaultRetry, calls.DefaultHandlerTimeout)

	return &Function{cfg: cfg}, nil
}

// errMargin is the cause of the end of the handlers' contexts before the function's deadline.
var errMargin = errors.New("streams: the function's deadline is near")

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
func (l *Function) Handle(ctx context.Context, event json.RawMessage) (BatchResponse, error) {
	records, err := decodeLambdaEvent(event)
	if err != nil {
		return BatchResponse{}, fmt.Errorf("streams: read the batch: %w", err)
	}

	// A function that reaches its deadline is killed before it reports, and then the whole batch would come
	// again.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-l.cfg.Margin), errMargin)
		defer cancel()
	}

	items := map[string][]received{}
	for _, r := range records {
		key := store.ItemKey(r.Record)
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
	slices.SortFunc(failed, store.CompareSequence)

	response := BatchResponse{Failures: make([]BatchItemFailure, len(failed))}
	for i, sequence := range failed {
		response.Failures[i].ItemIdentifier = sequence
	}

	return response, nil
}

// handleItem handles the records of one item and returns the records from the first
// failed one on.
func (l *Function) handleItem(ctx context.Context, records []received) []received {
	for i, r := range records {
		if ctx.Err() != nil || l.handle(ctx, r) != nil {
			return records[i:]
		}
	}

	return nil
}

func (l *Function) handle(ctx context.Context, r received) error {
	if r.fault != nil {
		return l.putAside(ctx, r)
	}

	return l.HandleRecord(ctx, r.Record)
}

// HandleRecord calls every handler that accepts the record. A failed handler does not
// keep the record from the others.
func (l *Function) HandleRecord(ctx context.Context, r streams.Record) error {
	var errs []error
	for i := range l.cfg.Handlers {
		h := &l.cfg.Handlers[i]

		accepted, err := calls.Accept(h, r)
		if !accepted {
			continue
		}

		// Each handler gets a copy of the record with its own name. The mapping counts attempts,
		// but does not pass the number to the function.
		r := r
		r.Handler, r.Attempt, r.Late = h.Name, 1, calls.IsLate(r, nil, calls.DefaultLateAfter)
		if err == nil {
			err = calls.Do(ctx, nil, h, r)
			if errors.Is(err, streams.ErrSkipped) {
				err = nil
			}
		} else {
			// The filter would panic again for the same record, so the error is permanent.
			err = streams.Permanent(err)
		}

		if streams.IsPermanent(err) && l.cfg.DynamoDB != nil {
			deadLetters := &deadletters.Table{API: l.cfg.DynamoDB, Table: l.cfg.DeadLetterTable}
			err = deadLetters.Store(ctx, r, err, nil)
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// putAside stores a record that cannot be decoded as a dead letter of every handler: no filter can judge
// it. It returns an error if there is no table for it.
func (l *Function) putAside(ctx context.Context, r received) error {
	if l.cfg.DynamoDB == nil {
		return r.fault
	}
	deadLetters := &deadletters.Table{API: l.cfg.DynamoDB, Table: l.cfg.DeadLetterTable}

	for i := range l.cfg.Handlers {
		r.Handler, r.Attempt = l.cfg.Handlers[i].Name, 1

		body, err := r.body()
		if err != nil {
			return err
		}

		if err := deadLetters.StoreBody(ctx, r.Record, body, streams.Permanent(r.fault), nil); err != nil {
			return err
		}
	}

	return nil
}
