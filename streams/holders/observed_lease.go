package holders

import (
	"cmp"
	"time"

	"ratchet/streams/leases"
)

// Observed is a lease as this worker has read it, with the times of the last changes that this
// worker has seen. The times are by this worker's own monotonic clock, and are not compared with
// other workers' clocks.
type Observed struct {
	leases.Lease
	rowSince       time.Time // since when counter and epoch have not changed
	UnchangedSince time.Time // rowSince, or since when the owner has shown no sign of life (see Workers.apply)
	ownerLeft      bool      // the owner has stopped
	freeSince      time.Time // since when the lease has no owner or is expired; zero while held
	requestSince   time.Time // since when RequestedBy has this value; zero without a request
}

// Observe merges a new read of the leases into the earlier observations. Leases that the new read
// lacks are dropped. duration is for rows without one.
func Observe(before map[string]*Observed, leases []leases.Lease, now time.Time, duration time.Duration) map[string]*Observed {
	after := make(map[string]*Observed, len(leases))
	for _, l := range leases {
		l.Duration = cmp.Or(l.Duration, duration)

		next := &Observed{Lease: l, rowSince: now}
		if l.RequestedBy != "" {
			next.requestSince = now
		}

		if last := before[l.Shard]; last != nil {
			if last.Counter == l.Counter && last.Epoch == l.Epoch {
				next.rowSince = last.rowSince
			}

			if l.RequestedBy != "" && last.RequestedBy == l.RequestedBy {
				next.requestSince = last.requestSince
			}
			next.freeSince = last.freeSince
		}
		next.UnchangedSince = next.rowSince
		after[l.Shard] = next
	}

	return after
}
