package actions

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// Batch describes many actions with generated codes. The same batch again makes the
// same codes, and no action twice: a run that broke off is simply repeated. (With
// another key in front they are written differently, and are the same actions.)
type Batch struct {
	// ID names the batch: 1 to 255 printable ASCII characters.
	ID string
	// Prefix begins every code: 2 to 16 letters and digits.
	Prefix string
	// Count is how many there are, 1 to [MaxBatch].
	Count int
	// From is how many to pass over: those that an earlier run has reported.
	From int
	// Payload, ActiveAt and ExpiresAt are as in [Spec], equal for all.
	Payload             json.RawMessage
	ActiveAt, ExpiresAt time.Time
	// Parallel is how many writes are on their way at once, 1 to 256. Default 16.
	Parallel int
}

const (
	// MaxBatch bounds the codes of one batch.
	MaxBatch = 1_000_000

	bulkChunk    = 256 // codes between two reports
	bulkPatience = 10  // writes of one code that are throttled before the run breaks off
	codeTries    = 16  // codes of one index: by chance, one in 2^35 is taken
)

// Coded is one action of a batch.
type Coded struct {
	Index int `json:"index"` // from 0
	Code  ID  `json:"code"`
	// Made is false when an earlier run had made it.
	Made bool `json:"made"`
}

// Bulk makes the batch, with one conditional write for each code: BatchWriteItem knows
// no conditions and would bring used codes back to life. Each is told about every code
// in order, once it is stored; an error of it ends the run, and so does one of
// DynamoDB after some patience. Memory is bounded, whatever the count.
func (a *Actions) Bulk(ctx context.Context, b Batch, each func(Coded) error) error {
	now := a.now()

	b.Prefix = normalCode(b.Prefix)
	s := Spec{Payload: b.Payload, ActiveAt: b.ActiveAt, ExpiresAt: b.ExpiresAt}.normal()
	b.ExpiresAt = s.ExpiresAt
	if b.Parallel == 0 {
		b.Parallel = 16
	}

	err := b.validate()
	if err == nil {
		err = s.validate(now)
	}

	var key tenantKey
	if err == nil {
		key, err = a.keys.signing()
	}

	if err != nil {
		return fmt.Errorf("batch %q: %w", b.ID, err)
	}

	made := make([]Coded, 0, bulkChunk)
	for first := b.From; first < b.Count; first += bulkChunk {
		made = made[:min(bulkChunk, b.Count-first)]
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(b.Parallel)

		for i := range made {
			group.Go(func() (err error) {
				made[i], err = a.createCoded(ctx, key, b, s, first+i, now)
				return err
			})
		}

		if err := group.Wait(); err != nil {
			return fmt.Errorf("batch %q: after %d of %d: %w", b.ID, first, b.Count, err)
		}

		for _, c := range made {
			if err := each(c); err != nil {
				return err
			}
		}
	}

	return nil
}

func (b Batch) validate() error {
	switch {
	case !textRule.MatchString(b.ID):
		return invalid("batch: 1 to 255 printable ASCII characters")
	case !codePrefixRule.MatchString(b.Prefix):
		return invalid("prefix: 2 to 16 letters and digits")
	case b.Count < 1 || b.Count > MaxBatch:
		return invalid(fmt.Sprintf("count %d: 1 to %d", b.Count, MaxBatch))
	case b.From < 0 || b.From > b.Count:
		return invalid(fmt.Sprintf("from %d: 0 to the count", b.From))
	case b.Parallel < 1 || b.Parallel > 256:
		return invalid(fmt.Sprintf("parallel %d: 1 to 256", b.Parallel))
	}

	return nil
}

// createCoded stores the action of one index. Where another index, or another batch,
// has its code, it has the next one.
func (a *Actions) createCoded(ctx context.Context, key tenantKey, b Batch, s Spec, index int, now time.Time) (Coded, error) {
	for try := range codeTries {
		id, r := key.codeOf(b, index, try)
		item := a.item(r, key, s, now)
		callID := rand.Text()
		item["callId"] = dynamo.S(callID)
		item["batchId"], item["batchIndex"] = dynamo.S(b.ID), dynamo.N(int64(index))

		old, err := a.putPatiently(ctx, item, now)
		if err != nil {
			return Coded{}, err
		}

		if old == nil {
			return Coded{Index: index, Code: id, Made: true}, nil
		}

		rec, err := decode(old)
		switch {
		case err != nil:
			return Coded{}, err
		case rec.batch != b.ID || rec.index != index:
			continue
		case !bytes.Equal(rec.content, s.content()):
			return Coded{}, ErrConflict
		}

		return Coded{Index: index, Code: id, Made: rec.callID == callID}, nil // stored by this call, and the answer was lost
	}

	return Coded{}, fmt.Errorf("index %d: %d codes are taken by other batches", index, codeTries)
}

// putPatiently puts up with throttling for longer than the SDK does: a large batch may
// outrun what a table has grown to.
func (a *Actions) putPatiently(ctx context.Context, item image, now time.Time) (image, error) {
	for attempt := 1; ; attempt++ {
		old, err := a.put(ctx, item, now)
		if !errors.Is(err, ErrUnavailable) || attempt == bulkPatience || ctx.Err() != nil {
			return old, err
		}

		if !worker.WaitJitter(ctx, min(100*time.Millisecond<<attempt, 5*time.Second)) {
			return nil, context.Cause(ctx)
		}
	}
}
