package streams

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ratchet/internal/dynamo"
)

// heldLease is a lease while this worker holds it.
//
// Its writes go one at a time. Each is conditional on the owner, the epoch and the
// counter that the previous write left, and increments the counter. So a write
// that is delayed on the wire cannot undo a newer one, and a worker that was paused
// writes nothing after another has taken the lease.
//
// The lease of a shard is valid as long as its worker is alive (see liveness). Other leases
// must be renewed by writes of their own.
type heldLease struct {
	table *leaseTable
	shard string // or the handler of a retry queue
	owner string
	own   term      // of the writes of the lease itself
	alive *liveness // nil: the lease is renewed by its own writes
	life  int64     // the life of alive in which the lease was taken

	writing callLock
	lease   Lease // as last stored

	epoch atomic.Int64
}

// newHeldLease wraps a lease whose take began at takenAt.
func newHeldLease(t *leaseTable, l Lease, takenAt time.Time, duration time.Duration) *heldLease {
	h := &heldLease{table: t, shard: l.Shard, owner: l.Owner, own: term{duration: duration, began: takenAt}, writing: newCallLock(), lease: l}
	h.epoch.Store(l.Epoch)
	h.own.renew(takenAt)

	return h
}

// newShardLease wraps the lease of a shard that was taken in a life of this worker.
func newShardLease(t *leaseTable, l Lease, takenAt time.Time, alive *liveness, life int64) *heldLease {
	h := newHeldLease(t, l, takenAt, alive.duration)
	h.alive, h.life = alive, life

	return h
}

// takenAt is when the write that took the lease began.
func (h *heldLease) takenAt() time.Time { return h.own.began }

// renewedAt is when the last accepted write began.
func (h *heldLease) renewedAt() time.Time { return h.own.renewedAt() }

// stopBy is when this worker must have stopped, unless a renewal is answered before.
func (h *heldLease) stopBy() time.Time {
	if h.alive != nil {
		return h.alive.stopBy(h.life)
	}

	return h.own.stopBy()
}

// valid reports whether it is certain that this worker holds the lease at now.
func (h *heldLease) valid(now time.Time) bool {
	if h.alive != nil {
		return h.alive.valid(h.life, now)
	}

	return h.own.valid(now)
}

// nextDeadline is the deadline of a renewal that begins at now. If that renewal hangs, there must
// be time for a second one.
func (h *heldLease) nextDeadline(now time.Time) time.Time {
	deadline := now.Add(h.own.duration / 4)
	if stopBy := h.stopBy(); stopBy.Before(deadline) {
		return stopBy
	}

	return deadline
}

// progress is what a write of a lease stores, beside the renewal.
type progress struct {
	checkpoint   string
	handledAt    time.Time // creation of the record at the checkpoint
	gaps         int64
	gapFrom      string
	gapAt        time.Time
	finished     time.Time // when the shard was finished, which ends the lease; zero: it is not
	release      bool      // the lease is given back before the shard is finished
	trying       *tryNote  // the records of a suspect shard that are being tried; nil: none
	forgetDeaths bool      // earlier deaths do not count any more
}

// final reports whether the write ends the lease.
func (p progress) final() bool { return p.release || !p.finished.IsZero() }

// write stores progress and renews, releases or finishes the lease. It returns
// ErrLeaseLost if the lease belongs to another worker.
func (h *heldLease) write(ctx context.Context, p progress) error {
	h.writing.lock()
	defer h.writing.unlock()

	// Each round learns from the row why the write failed. Four rounds cover a lost answer, a deleted
	// row and the final write after it.
	for range 4 {
		began := time.Now()
		// This loop repeats the write in time for the lease, and the SDK's retry budget is shared by all calls
		// of the client.
		row, applied, err := applyUpdate(ctx, h.table.api, h.update(p), dynamo.WithoutRetries)
		switch {
		case err != nil:
			return fmt.Errorf("streams: write lease %s: %w", h.lease.Shard, err)

		case applied:
			h.stored(h.table.decode(row), began)
			return nil

		case row == nil:
			// The row was deleted, for example by an operator. It is stored again. A final write
			// then ends the lease in the next round.
			if err := h.reinsert(ctx, p, began); err != nil {
				return err
			}

			if !p.final() {
				return nil
			}

		case dynamo.Text(row, leaseOwner) == h.lease.Owner && dynamo.Number(row, leaseEpoch) == h.lease.Epoch:
			// An earlier write of ours was stored although its answer was lost: continue from the stored
			// values.
			h.lease.Counter, h.lease.trying = dynamo.Number(row, leaseCounter), decodeTryNote(row)

		case h.storedBefore(row, p):
			return nil

		default:
			return ErrLeaseLost
		}
	}

	return errors.New("streams: write lease " + h.lease.Shard + ": it keeps changing")
}

// storedBefore recognizes this worker's own final write whose answer was lost: the row has no
// owner, the same epoch, and the next counter.
func (h *heldLease) storedBefore(row dynamo.Item, p progress) bool {
	if dynamo.Text(row, leaseOwner) != "" ||
		dynamo.Number(row, leaseEpoch) != h.lease.Epoch ||
		dynamo.Number(row, leaseCounter) != h.lease.Counter+1 {
		return false
	}

	return p.release || (!p.finished.IsZero() && dynamo.Number(row, leaseFinishedAt) != 0)
}

func (h *heldLease) update(p progress) *dynamo.Update {
	update := h.table.updateLease(h.lease).
		IfEquals(leaseOwner, dynamo.S(h.lease.Owner)).
		IfEquals(leaseEpoch, dynamo.N(h.lease.Epoch)).
		IfEquals(leaseCounter, dynamo.N(h.lease.Counter)).
		SetValue(leaseCounter, dynamo.N(h.lease.Counter+1))

	if p.checkpoint != "" {
		update.SetValue(leaseCheckpoint, dynamo.S(p.checkpoint))
	}

	if !p.handledAt.IsZero() {
		update.SetValue(leaseHandledAt, dynamo.Millis(p.handledAt))
	}

	if p.gaps != 0 {
		update.SetValue(leaseGaps, dynamo.N(p.gaps))
		update.SetValue(leaseGapAt, dynamo.Millis(p.gapAt))

		if p.gapFrom != "" {
			update.SetValue(leaseGapFrom, dynamo.S(p.gapFrom))
		}
	}

	p.trying.addTo(update, h.lease.trying)

	// The holder is alive, since it releases the lease: the count of deaths in a row begins again.
	if (p.forgetDeaths || p.release) && h.lease.deaths > 0 {
		update.RemoveAttribute(leaseDeaths)
	}

	switch {
	case !p.finished.IsZero():
		update.SetValue(leaseFinishedAt, dynamo.Millis(p.finished))
		update.RemoveAttribute(leaseOwner)
		update.RemoveAttribute(leaseRequestedBy)
	case p.release:
		// RequestedBy stays: it reserves the free lease for the worker that asked for it.
		update.RemoveAttribute(leaseOwner)
	}

	return update
}

// reinsert stores a deleted lease again, with this worker's checkpoint and under a new epoch. The
// gaps and tries in p are not stored: a later write has them. If another worker has stored the
// lease first, the lease is lost.
func (h *heldLease) reinsert(ctx context.Context, p progress, began time.Time) error {
	l := h.lease
	// A delayed write from before the deletion carries the old epoch and must fail.
	l.Epoch++

	l.Counter++
	l.ParentDone = true
	l.RequestedBy = ""
	if p.checkpoint != "" {
		l.Checkpoint, l.HandledAt = p.checkpoint, p.handledAt
	}

	_, outcome, err := h.table.insertLease(ctx, l)
	if err != nil {
		return err
	}

	if outcome != insertedLease {
		return ErrLeaseLost
	}

	h.epoch.Store(l.Epoch)
	h.stored(l, began)

	return nil
}

// stored notes the lease that a write has stored, and when that write began. The caller holds
// writing.
func (h *heldLease) stored(l Lease, began time.Time) {
	h.lease = l
	h.own.renew(began)
}
