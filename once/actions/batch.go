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

// Batch describes many actions with generated codes. The same batch makes the same codes
// each time, and no action twice, so a run that failed is simply repeated. (If another
// signing key has been put in front, the codes are spelled differently and name the same
// actions.)
type Batch struct {
	// ID names the batch: 1 to 255 printable ASCII characters.
	ID string
	// Prefix begins every code: 2 to 16 letters and digits.
	Prefix string
	// Count is the number of codes: 1 to 1,000,000.
	Count int
	// From is how many codes to skip, because an earlier run has reported them.
	From int
	// Payload, ActiveAt and ExpiresAt are as in [Spec], and equal for all.
	Payload             json.RawMessage
	ActiveAt, ExpiresAt time.Time
	// Parallel is how many writes are in flight at once, 1 to 256. Default 16.
	Parallel int
}

const (
	maxBatch = 1_000_000

	// bulkChunk is how many codes are made between two reports.
	bulkChunk = 256
	// codeTries is how many codes one index may try. By chance, one in 2^35 codes is taken.
	codeTries = 16
	// putTries is how often the write of one code is sent before the run fails.
	putTries = 6
)

// putBackoff outlasts the attempts of one write: a large batch may need more capacity than
// the table has so far.
var putBackoff = worker.Backoff{Base: 200 * time.Millisecond, Max: 5 * time.Second}

// BatchAction is one action of a batch.
type BatchAction struct {
	Index int `json:"index"` // from 0
	Code  ID  `json:"code"`
	// Made is false if an earlier run had made the action.
	Made bool `json:"made"`
}

// Bulk makes the actions of the batch, with one conditional write for each. It does not use
// BatchWriteItem, which has no conditions and would replace used codes by new ones. A repeat after the
// expiry reports the actions that were made, and fails with ErrInvalid at the first that was not. It
// calls each for every action in the order of their indexes, once the action is stored. An
// error of each ends the run, and so does an error of DynamoDB that lasts. The memory that
// Bulk takes does not grow with the count.
func (a *Actions) Bulk(ctx context.Context, b Batch, each func(BatchAction) error) error {
	if err := a.learn(ctx); err != nil {
		return fmt.Errorf("batch %q: %w", b.ID, err)
	}
	now := a.now()

	b.Prefix = normalCode(b.Prefix)
	s := Spec{Payload: b.Payload, ActiveAt: b.ActiveAt, ExpiresAt: b.ExpiresAt}.normal()
	// The codes contain the expiry, so it must be the stored one.
	b.ExpiresAt = s.ExpiresAt
	if b.Parallel == 0 {
		b.Parallel = 16
	}

	err := b.validate()
	if err == nil {
		err = s.validate()
	}

	var key tenantKey
	if err == nil {
		key, err = a.keys.signing()
	}

	if err != nil {
		return fmt.Errorf("batch %q: %w", b.ID, err)
	}

	// A repeat may come after the end. It makes nothing, and finds what was made.
	run := batchRun{batch: b, spec: s, key: key, now: now, refusal: s.checkEnd(now)}

	made := make([]BatchAction, 0, bulkChunk)
	// Chunks keep the memory constant, and the reports in the order of the indexes.
	for first := b.From; first < b.Count; first += bulkChunk {
		made = made[:min(bulkChunk, b.Count-first)]
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(b.Parallel)

		for i := range made {
			group.Go(func() (err error) {
				made[i], err = a.createAt(ctx, run, first+i)
				return err
			})
		}

		if err := group.Wait(); err != nil {
			return fmt.Errorf("batch %q: after %d of %d: %w", b.ID, first, b.Count, err)
		}

		for _, action := range made {
			if err := each(action); err != nil {
				return err
			}
		}
	}

	return nil
}

func (b Batch) validate() error {
	switch {
	case !textRule().MatchString(b.ID):
		return invalid("batch: 1 to 255 printable ASCII characters")
	case !codePrefixRule.MatchString(b.Prefix):
		return invalid("prefix: 2 to 16 letters and digits")
	case b.Count < 1 || b.Count > maxBatch:
		return invalid(fmt.Sprintf("count %d: 1 to %d", b.Count, maxBatch))
	case b.From < 0 || b.From > b.Count:
		return invalid(fmt.Sprintf("from %d: 0 to the count", b.From))
	case b.Parallel < 1 || b.Parallel > 256:
		return invalid(fmt.Sprintf("parallel %d: 1 to 256", b.Parallel))
	}

	return nil
}

// batchRun is one call of Bulk. refusal says why it can make no new action, nil if it can.
type batchRun struct {
	batch   Batch
	spec    Spec
	key     tenantKey
	now     time.Time
	refusal error
}

// putOrRead stores the action of an index, or returns the item that exists.
func (a *Actions) putOrRead(ctx context.Context, run batchRun, action ref, index int, callID string) (image, error) {
	if run.refusal != nil {
		return a.remembered(ctx, action, run.refusal)
	}

	item := a.newItem(action, run.key, run.spec, run.now)
	item["callId"] = dynamo.S(callID)
	item["batchId"] = dynamo.S(run.batch.ID)
	item["batchIndex"] = dynamo.N(int64(index))

	return a.putWithRetries(ctx, item)
}

// createAt stores the action of one index. If another index or another batch has its code,
// it takes the next code.
func (a *Actions) createAt(ctx context.Context, run batchRun, index int) (BatchAction, error) {
	b, s := run.batch, run.spec

	for try := range codeTries {
		id, action := run.key.codeOf(b, index, try)
		callID := rand.Text()

		old, err := a.putOrRead(ctx, run, action, index, callID)
		if err != nil {
			return BatchAction{}, err
		}

		if old == nil {
			return BatchAction{Index: index, Code: id, Made: true}, nil
		}

		rec, err := decode(old)
		switch {
		case err != nil:
			return BatchAction{}, err
		// The code is taken by chance. The next try makes another one.
		case rec.batch != b.ID || rec.index != index:
			continue
		case !bytes.Equal(rec.content, s.content()):
			return BatchAction{}, ErrConflict
		}

		// If the item names this call, its first sending stored it and the answer was lost.
		return BatchAction{Index: index, Code: id, Made: rec.callID == callID}, nil
	}

	return BatchAction{}, fmt.Errorf("index %d: %d codes are taken by other batches", index, codeTries)
}

// putWithRetries is put, repeated while DynamoDB is unavailable.
func (a *Actions) putWithRetries(ctx context.Context, item image) (old image, err error) {
	err = worker.Retry(ctx, putBackoff, putTries, func() (err error) {
		old, err = a.put(ctx, item)
		if !errors.Is(err, ErrUnavailable) {
			err = worker.Permanent(err)
		}

		return err
	})

	return old, err
}
