package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// hold is a lease while this worker has it. Its writes go one at a time, each
// conditional on owner, epoch and the counter left by the one before: a write
// that is late on the wire can never undo a newer one.
type hold struct {
	table *leaseTable
	span  time.Duration // LeaseDuration

	mu    sync.Mutex // held during a write
	lease Lease      // as last stored

	epoch   atomic.Int64
	renewed atomic.Int64 // start of the last accepted write, as time since base
	base    time.Time    // monotonic
}

// newHold starts from a lease that was taken at the given instant.
func newHold(t *leaseTable, l Lease, at time.Time, span time.Duration) *hold {
	h := &hold{table: t, span: span, lease: l, base: at}
	h.epoch.Store(l.Epoch)
	return h
}

// fenceAt is when the holder must have stopped: others may take the lease one
// whole span after the last renewal began.
func (h *hold) fenceAt() time.Time {
	return h.base.Add(time.Duration(h.renewed.Load()) + h.span*3/4)
}

// valid reports whether the lease certainly is ours at that instant.
func (h *hold) valid(now time.Time) bool { return now.Before(h.fenceAt()) }

// renewedAt is when the last accepted write began.
func (h *hold) renewedAt() time.Time { return h.base.Add(time.Duration(h.renewed.Load())) }

// progress is what a write stores besides the renewal.
type progress struct {
	checkpoint string
	handledAt  time.Time
	gaps       int64
	gapFrom    string
	gapAt      time.Time
	finished   time.Time
	release    bool
}

// write stores progress and renews, releases or finishes. It returns
// ErrLeaseLost when the lease is no longer ours.
func (h *hold) write(ctx context.Context, p progress) error {
	h.mu.Lock()
	defer h.mu.Unlock()

	for range 4 {
		began := time.Now()
		now, refused, err := h.change(p).apply(ctx, h.table.api, once)
		switch {
		case err != nil:
			return fmt.Errorf("streams: write lease %s: %w", h.lease.Shard, err)
		case !refused:
			h.accept(now, began)
			return nil
		case now == nil:
			if err := h.restore(ctx, p, began); err != nil {
				return err
			}

			if !p.release && p.finished.IsZero() {
				return nil
			}
		case str(now, leaseOwner) == h.lease.Owner && num(now, leaseEpoch) == h.lease.Epoch:
			// An earlier write of ours was stored although its answer was lost.
			h.lease.Counter = num(now, leaseCounter)
		case h.settled(now, p):
			return nil
		default:
			return ErrLeaseLost
		}
	}

	return errors.New("streams: write lease " + h.lease.Shard + ": it keeps changing")
}

// settled recognises our own release or finish whose answer was lost.
func (h *hold) settled(now item, p progress) bool {
	if num(now, leaseEpoch) != h.lease.Epoch || num(now, leaseCounter) != h.lease.Counter+1 || str(now, leaseOwner) != "" {
		return false
	}
	return p.release || (!p.finished.IsZero() && num(now, leaseFinished) != 0)
}

func (h *hold) accept(now item, began time.Time) {
	h.lease = decodeLease(now)
	h.renewed.Store(int64(began.Sub(h.base)))
}

func (h *hold) change(p progress) *change {
	u := newChange(h.table.table, leaseKey(h.table.stream, h.lease.Shard))
	u.equals(leaseOwner, avS(h.lease.Owner))
	u.equals(leaseEpoch, avN(h.lease.Epoch))
	u.equals(leaseCounter, avN(h.lease.Counter))
	u.set(leaseCounter, avN(h.lease.Counter+1))

	if p.checkpoint != "" {
		u.set(leaseCheckpoint, avS(p.checkpoint))
	}

	if !p.handledAt.IsZero() {
		u.set(leaseHandledAt, avN(p.handledAt.UnixMilli()))
	}

	if p.gaps != 0 {
		u.set(leaseGaps, avN(p.gaps))
		u.set(leaseGapAt, avN(p.gapAt.UnixMilli()))

		if p.gapFrom != "" {
			u.set(leaseGapFrom, avS(p.gapFrom))
		}
	}

	switch {
	case !p.finished.IsZero():
		u.set(leaseFinished, avN(p.finished.UnixMilli()))
		u.remove(leaseOwner)
		u.remove(leaseWanted)
	case p.release:
		u.remove(leaseOwner)
	}

	return u
}

// restore puts back a lease item that somebody deleted under our hands, with
// what we know and under a new epoch. If another worker was quicker, the lease
// is lost.
func (h *hold) restore(ctx context.Context, p progress, began time.Time) error {
	l := h.lease

	l.Epoch++
	l.Counter++
	l.ParentDone, l.Wanted = true, ""
	if p.checkpoint != "" {
		l.Checkpoint, l.HandledAt = p.checkpoint, p.handledAt
	}

	stored, err := h.table.insert(ctx, l)
	if err != nil {
		return err
	}

	if !stored {
		return ErrLeaseLost
	}
	h.lease = l
	h.epoch.Store(l.Epoch)
	h.renewed.Store(int64(began.Sub(h.base)))

	return nil
}

// once switches the SDK's retries off: lease writes have their own rhythm, and
// the SDK's retry budget is shared by everything that uses the client.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
