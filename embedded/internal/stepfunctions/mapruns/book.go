package mapruns

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Book has the Map Runs of a store.
type Book struct {
	db       *store.DB
	account  arns.Account
	clock    *clock.Clock
	random   *rand.Rand
	ids      *keys.Sequence
	machines *machines.Catalog

	// mu guards the records. It is locked after the lock of an execution.
	mu   sync.Mutex
	work work
}

// Open lists the Map Runs that run.
func Open(
	db *store.DB, account arns.Account, clock *clock.Clock, random *rand.Rand, ids *keys.Sequence, machines *machines.Catalog,
) (*Book, error) {
	l := &Book{db: db, account: account, clock: clock, random: random, ids: ids, machines: machines, work: newWork()}

	return l, keys.Each(db, keys.MapRun, func(k, v []byte) (bool, error) {
		var r struct{ Status execution.Status }
		if err := json.Unmarshal(v, &r); err != nil {
			return false, fmt.Errorf("read Map Run %d: %w", keys.Number(k), err)
		}

		if r.Status == execution.Running {
			l.work.wake(keys.RunAt(k))
		}

		return true, nil
	})
}

// Operations are the operations that concern Map Runs only.
func (l *Book) Operations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"DescribeMapRun": requests.Decoded(l.describe),
		"UpdateMapRun":   requests.Decoded(l.update),
	}
}

// Wake lists a Map Run that may have something to do.
func (l *Book) Wake(k keys.Run) { l.work.wake(k) }

// Take waits for a Map Run that may have something to do until ctx ends; ok is false then.
func (l *Book) Take(ctx context.Context) (k keys.Run, ok bool) { return l.work.take(ctx) }

// Listed returns the number of Map Runs that may have something to do.
func (l *Book) Listed() int {
	l.work.mu.Lock()
	defer l.work.mu.Unlock()

	return len(l.work.order)
}

// Freeze keeps all Map Runs as they are until release is called.
func (l *Book) Freeze() (release func()) {
	l.mu.Lock()
	return l.mu.Unlock
}

// Of returns the numbers of a machine's Map Runs.
func (l *Book) Of(machine uint64) (runs []uint64, err error) {
	err = l.db.Scan(keys.Of(keys.MapRun, machine), keys.Of(keys.MapRun, machine+1), false, func(k, _ []byte) (bool, error) {
		runs = append(runs, keys.Number(k))
		return true, nil
	})

	return runs, err
}

// Load returns a Map Run, nil if there is none.
func (l *Book) Load(k keys.Run) (*Run, error) {
	data, ok, err := l.db.Get(k.Record())
	if err != nil || !ok {
		return nil, err
	}

	r := &Run{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read Map Run %d: %w", k.ID, err)
	}

	return r, nil
}

// save adds a Map Run to a batch.
func save(b *store.Batch, k keys.Run, r *Run) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}

	b.Set(k.Record(), data)

	return nil
}

// Change changes a Map Run outside of a turn and wakes it. change reports whether it has changed
// anything. If the Map Run is gone, nothing happens.
func (l *Book) Change(k keys.Run, change func(r *Run) (changed bool, err error)) (*store.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	r, err := l.Load(k)
	if err != nil || r == nil {
		return nil, err
	}

	if changed, err := change(r); err != nil || !changed {
		return nil, err
	}

	b := l.db.NewBatch()
	if err := save(b, k, r); err != nil {
		b.Discard()
		return nil, err
	}

	if err := b.Apply(); err != nil {
		b.Discard()
		return nil, fmt.Errorf("store Map Run %d: %w", k.ID, err)
	}

	// The Map Run is woken after Apply, so that advanceRun reads the new record.
	l.work.wake(k)

	return b, nil
}
