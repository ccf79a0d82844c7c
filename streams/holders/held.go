package holders

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// Held is a lease while this worker holds it.
//
// Its writes go one at a time. Each is conditional on the owner, the epoch and the
// counter that the previous write left, and increments the counter. So a write
// that is delayed on the wire cannot undo a newer one, and a worker that was paused
// writes nothing after another has taken the lease.
//
// The lease of a shard is valid as long as its worker is alive (see Liveness). Other leases
// must be renewed by writes of their own.
type Held struct {
	table *leases.Table
	shard string // or the handler of a retry queue
	owner string
	Own   Term      // of the writes of the lease itself
	Alive *Liveness // nil: the lease is renewed by its own writes
	life  int64     // the life of alive in which the lease was taken

	writing worker.CallLock
	Lease   leases.Lease // as last stored

	Epoch atomic.Int64
}

// Hold wraps a lease whose take began at takenAt.
func Hold(t *leases.Table, l leases.Lease, takenAt time.Time, duration time.Duration) *Held {
	h := &Held{table: t, shard: l.Shard, owner: l.Owner, Own: Term{Duration: duration, began: takenAt}, writing: worker.NewCallLock(), Lease: l}
	h.Epoch.Store(l.Epoch)
	h.Own.renew(takenAt)

	return h
}

// HoldAlive wraps the lease of a shard that was taken in a life of this worker.
func HoldAlive(t *leases.Table, l leases.Lease, takenAt time.Time, alive *Liveness, life int64) *Held {
	h := Hold(t, l, takenAt, alive.Duration)
	h.Alive, h.life = alive, life

	return h
}

// TakenAt is when the write that took the lease began.
func (h *Held) TakenAt() time.Time { return h.Own.began }

// RenewedAt is when the last accepted write began.
func (h *Held) RenewedAt() time.Time { return h.Own.renewedAt() }

// StopBy is when this worker must have stopped, unless a renewal is answered before.
func (h *Held) StopBy() time.Time {
	if h.Alive != nil {
		return h.Alive.stopBy(h.life)
	}

	return h.Own.stopBy()
}

// Valid reports whether it is certain that this worker holds the lease at now.
func (h *Held) Valid(now time.Time) bool {
	if h.Alive != nil {
		return h.Alive.Valid(h.life, now)
	}

	return h.Own.valid(now)
}

// NextDeadline is the deadline of a renewal that begins at now. If that renewal hangs, there must
// be time for a second one.
func (h *Held) NextDeadline(now time.Time) time.Time {
	deadline := now.Add(h.Own.Duration / 4)
	if stopBy := h.StopBy(); stopBy.Before(deadline) {
		return stopBy
	}

	return deadline
}

// Write stores progress and renews, releases or finishes the lease. It returns
// ErrLeaseLost if the lease belongs to another worker.
func (h *Held) Write(ctx context.Context, p leases.Progress) error {
	h.writing.Lock()
	defer h.writing.Unlock()

	// Each round learns from the row why the write failed. Four rounds cover a lost answer, a deleted
	// row and the final write after it.
	for range 4 {
		began := time.Now()
		// This loop repeats the write in time for the lease, and the SDK's retry budget is shared by all calls
		// of the client.
		row, applied, err := store.Apply(ctx, h.table.API, h.table.Renewal(h.Lease, p), dynamo.WithoutRetries)
		now := leases.Decode(row)

		switch {
		case err != nil:
			return fmt.Errorf("streams: write lease %s: %w", h.Lease.Shard, err)

		case applied:
			h.stored(now, began)
			return nil

		case row == nil:
			// The row was deleted, for example by an operator. It is stored again. A final write
			// then ends the lease in the next round.
			if err := h.reinsert(ctx, p, began); err != nil {
				return err
			}

			if !p.Final() {
				return nil
			}

		case now.Owner == h.Lease.Owner && now.Epoch == h.Lease.Epoch:
			// An earlier write of ours was stored although its answer was lost: continue from the stored
			// values.
			h.Lease.Counter, h.Lease.Trying = now.Counter, now.Trying

		case h.storedBefore(now, p):
			return nil

		default:
			return streams.ErrLeaseLost
		}
	}

	return errors.New("streams: write lease " + h.Lease.Shard + ": it keeps changing")
}

// storedBefore recognizes this worker's own final write whose answer was lost: the row has no
// owner, the same epoch, and the next counter.
func (h *Held) storedBefore(now leases.Lease, p leases.Progress) bool {
	if now.Owner != "" || now.Epoch != h.Lease.Epoch || now.Counter != h.Lease.Counter+1 {
		return false
	}

	return p.Release || (!p.Finished.IsZero() && now.Finished())
}

// reinsert stores a deleted lease again, with this worker's checkpoint and under a new epoch. The
// gaps and tries in p are not stored: a later write has them. If another worker has stored the
// lease first, the lease is lost.
func (h *Held) reinsert(ctx context.Context, p leases.Progress, began time.Time) error {
	l := h.Lease
	// A delayed write from before the deletion carries the old epoch and must fail.
	l.Epoch++

	l.Counter++
	l.ParentDone = true
	l.RequestedBy = ""
	if p.Checkpoint != "" {
		l.Checkpoint, l.HandledAt = p.Checkpoint, p.HandledAt
	}

	_, outcome, err := h.table.InsertShard(ctx, l)
	if err != nil {
		return err
	}

	if outcome != leases.InsertedLease {
		return streams.ErrLeaseLost
	}

	h.Epoch.Store(l.Epoch)
	h.stored(l, began)

	return nil
}

// Check returns a part of a transaction that fails unless this worker still holds the lease.
func (h *Held) Check() *ddbtypes.ConditionCheck {
	return h.table.CheckOwner(h.shard, h.owner, h.Epoch.Load())
}

// stored notes the lease that a write has stored, and when that write began. The caller holds
// writing.
func (h *Held) stored(l leases.Lease, began time.Time) {
	h.Lease = l
	h.Own.renew(began)
}
