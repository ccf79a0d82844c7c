package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Lambda runs the handlers of a poller behind a Lambda event source mapping
// that has ReportBatchItemFailures set. The mapping then does what a Poller
// does otherwise: it reads shards, repeats failed batches and counts attempts,
// so Handler.Attempts is not used. Handle fits lambda.Start.
type Lambda struct {
	// Handlers, Middleware and Key are as in Config. Handlers must be set.
	Handlers   []Handler
	Middleware []Middleware
	Key        func(Record) string
	// DynamoDB and DeadLetterTable take the records that a handler fails with a
	// Permanent error. Without them such records fail like all others, and the
	// mapping repeats them until its own limits are reached.
	DynamoDB        dynamoAPI
	DeadLetterTable string
	// Concurrency bounds the calls at once, HandlerTimeout one call. Defaults 16, 30 s.
	Concurrency    int
	HandlerTimeout time.Duration
}

// BatchResponse names the records that failed. The mapping goes on with the
// lowest of them, so that records behind it may come again.
type BatchResponse struct {
	Failures []BatchItemFailure `json:"batchItemFailures"`
}

// BatchItemFailure is one failed record, by its sequence number.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Handle runs one batch, given as the JSON of the event: items side by side, the
// records of one item in order. Behind a record that failed, the item's later
// ones are not begun; they fail, too. The error is for a batch that cannot be
// read at all or a Lambda that lacks its handlers.
func (l Lambda) Handle(ctx context.Context, event json.RawMessage) (BatchResponse, error) {
	cfg, err := l.config()
	if err != nil {
		return BatchResponse{}, err
	}

	records, err := decodeEvent(event)
	if err != nil {
		return BatchResponse{}, fmt.Errorf("streams: read the batch: %w", err)
	}

	lanes := map[string][]int{}
	for i := range records {
		k := cfg.Key(records[i])
		lanes[k] = append(lanes[k], i)
	}
	var mu sync.Mutex
	var failed []string
	var g errgroup.Group
	g.SetLimit(cfg.Concurrency)

	for _, lane := range lanes {
		g.Go(func() error {
			for n, i := range lane {
				if err := l.all(ctx, cfg, records[i]); err == nil {
					continue
				}
				mu.Lock()
				defer mu.Unlock()

				for _, rest := range lane[n:] {
					failed = append(failed, records[rest].SequenceNumber)
				}

				return nil
			}

			return nil
		})
	}
	_ = g.Wait() // no lane returns an error
	slices.SortFunc(failed, CompareSequence)

	out := BatchResponse{Failures: make([]BatchItemFailure, len(failed))}
	for i, seq := range failed {
		out.Failures[i].ItemIdentifier = seq
	}

	return out, nil
}

func (l Lambda) config() (Config, error) {
	cfg := Config{Handlers: l.Handlers, Middleware: l.Middleware, Key: l.Key, Concurrency: l.Concurrency, HandlerTimeout: l.HandlerTimeout}
	or(&cfg.Concurrency, 16)
	or(&cfg.HandlerTimeout, 30*time.Second)

	if cfg.Key == nil {
		cfg.Key = itemKey
	}

	if len(l.Handlers) == 0 {
		return cfg, errors.New("streams: Lambda.Handlers is empty")
	}

	return cfg.withHandlers()
}

// all calls every handler that wants the record; one that fails does not keep
// the others from it.
func (l Lambda) all(ctx context.Context, cfg Config, r Record) error {
	var errs []error
	for i := range cfg.Handlers {
		h := &cfg.Handlers[i]

		wanted, err := matches(h, r)
		if !wanted {
			continue
		}

		rec := r
		rec.Handler, rec.Attempt = h.Name, 1
		if err == nil {
			err = callOnce(ctx, *h, rec)
		} else {
			err = Permanent(err)
		}

		if err != nil && IsPermanent(err) && l.DynamoDB != nil && l.DeadLetterTable != "" {
			err = (&letterTable{l.DynamoDB, l.DeadLetterTable}).put(ctx, rec, err)
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// lambdaRecord is a record in the form of the event.
type lambdaRecord struct {
	EventID        string    `json:"eventID"`
	EventName      EventName `json:"eventName"`
	EventSourceARN string    `json:"eventSourceARN"`
	UserIdentity   *struct {
		PrincipalID string `json:"principalId"` // any case: encoding/json does not mind
		Type        string `json:"type"`
	} `json:"userIdentity"`
	Dynamodb struct {
		Created   float64        `json:"ApproximateCreationDateTime"`
		Keys      map[string]any `json:"Keys"`
		Old       map[string]any `json:"OldImage"`
		New       map[string]any `json:"NewImage"`
		Sequence  string         `json:"SequenceNumber"`
		SizeBytes int64          `json:"SizeBytes"`
	} `json:"dynamodb"`
}

func decodeEvent(event json.RawMessage) ([]Record, error) {
	var in struct{ Records []lambdaRecord }
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}

	out := make([]Record, len(in.Records))
	for i, r := range in.Records {
		d := r.Dynamodb
		if d.Sequence == "" {
			return nil, fmt.Errorf("record %d has no sequence number", i)
		}

		out[i] = Record{
			StreamARN: r.EventSourceARN, SequenceNumber: d.Sequence, EventID: r.EventID, EventName: r.EventName,
			CreatedAt: time.UnixMilli(int64(d.Created * 1000)), SizeBytes: d.SizeBytes,
		}
		if r.UserIdentity != nil {
			out[i].Identity = Identity{PrincipalID: r.UserIdentity.PrincipalID, Type: r.UserIdentity.Type}
		}

		for _, m := range []struct {
			to   *item
			from map[string]any
		}{{&out[i].Keys, d.Keys}, {&out[i].Old, d.Old}, {&out[i].New, d.New}} {
			var err error
			if *m.to, err = decodeMap(m.from); err != nil {
				return nil, fmt.Errorf("record %s: %w", d.Sequence, err)
			}
		}
	}

	return out, nil
}
