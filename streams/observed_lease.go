package streams

import "time"

// observedLease is a lease as this worker has read it, and since when the row has not
// changed. The times have monotonic readings of this worker's own clock; the clocks
// of other workers play no part.
type observedLease struct {
	Lease
	rowSince       time.Time // counter and epoch have not changed
	unchangedSince time.Time // the same, or since when the owner has shown no sign of life
	ownerLeft      bool      // the owner has stopped
	freeSince      time.Time // without owner, or expired; zero while held
	requestSince   time.Time // RequestedBy; zero without a request
}

// observe merges a new read of the leases into the earlier observations. Leases
// that were not read again are dropped.
func observe(before map[string]*observedLease, leases []Lease, now time.Time) map[string]*observedLease {
	after := make(map[string]*observedLease, len(leases))
	for _, l := range leases {
		next := &observedLease{Lease: l, rowSince: now}
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
		next.unchangedSince = next.rowSince
		after[l.Shard] = next
	}

	return after
}
