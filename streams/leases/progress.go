package leases

import (
	"time"

	"ratchet/internal/dynamo"
)

// Progress is what a write of a lease stores, beside the renewal.
type Progress struct {
	Checkpoint   string
	HandledAt    time.Time // creation of the record at the checkpoint
	Gaps         int64
	GapFrom      string
	GapAt        time.Time
	Finished     time.Time // when the shard was finished, which ends the lease; zero: it is not
	Release      bool      // the lease is given back before the shard is finished
	Trying       *TryNote  // the records of a suspect shard that are being tried; nil: none
	ForgetDeaths bool      // earlier deaths do not count any more
}

// Final reports whether the write ends the lease.
func (p Progress) Final() bool { return p.Release || !p.Finished.IsZero() }

// Renewal returns the write of the holder of l that stores the progress and renews, releases or finishes
// the lease. It fails if the lease is not as in l.
func (t *Table) Renewal(l Lease, p Progress) *dynamo.Update {
	update := t.Update(l.Shard).
		IfEquals(leaseOwner, dynamo.S(l.Owner)).
		IfEquals(leaseEpoch, dynamo.N(l.Epoch)).
		IfEquals(leaseCounter, dynamo.N(l.Counter)).
		SetValue(leaseCounter, dynamo.N(l.Counter+1))

	if p.Checkpoint != "" {
		update.SetValue(leaseCheckpoint, dynamo.S(p.Checkpoint))
	}

	if !p.HandledAt.IsZero() {
		update.SetValue(leaseHandledAt, dynamo.Millis(p.HandledAt))
	}

	if p.Gaps != 0 {
		update.SetValue(LeaseGaps, dynamo.N(p.Gaps))
		update.SetValue(LeaseGapAt, dynamo.Millis(p.GapAt))

		if p.GapFrom != "" {
			update.SetValue(LeaseGapFrom, dynamo.S(p.GapFrom))
		}
	}

	p.Trying.addTo(update, l.Trying)

	// The holder is alive, since it releases the lease: the count of deaths in a row begins again.
	if (p.ForgetDeaths || p.Release) && l.Deaths > 0 {
		update.RemoveAttribute(leaseDeaths)
	}

	switch {
	case !p.Finished.IsZero():
		update.SetValue(leaseFinishedAt, dynamo.Millis(p.Finished))
		update.RemoveAttribute(leaseOwner)
		update.RemoveAttribute(leaseRequestedBy)
	case p.Release:
		// RequestedBy stays: it reserves the free lease for the worker that asked for it.
		update.RemoveAttribute(leaseOwner)
	}

	return update
}
