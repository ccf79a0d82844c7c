package holders

import (
	"cmp"
	"time"

	"ratchet/streams/leases"
)

// Workers has this worker's observations of the rows of all workers, its own row included.
// The times are by this worker's clock.
type Workers map[string]*Worker

// Worker is a worker as its row shows it.
type Worker struct {
	leases.WorkerRow
	UnchangedSince time.Time // the end of the read that first showed the row's counter
	Gone           bool      // the row was deleted; unchangedSince is when that was noticed
}

// goneWorkers is for how many lease durations a worker is remembered after its row was deleted.
const goneWorkers = 10

// Observe adds a read of the rows that ended at now; duration is for rows without one. It reports whether the leases
// should be read because of the rows: a worker has come or gone, or has changed leases.
func (o Workers) Observe(rows []leases.WorkerRow, now time.Time, duration time.Duration) (news bool) {
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		seen[row.Owner] = true
		row.Duration = cmp.Or(row.Duration, duration)

		w := o[row.Owner]
		if w == nil || w.Gone {
			o[row.Owner] = &Worker{WorkerRow: row, UnchangedSince: now}
			news = true

			continue
		}

		// A lower counter is a sign of life, too: the row was deleted and written again.
		if w.Counter != row.Counter {
			w.UnchangedSince = now
		}
		news = news || w.Changes != row.Changes || w.State != row.State
		w.WorkerRow = row
	}

	for owner, w := range o {
		switch {
		case seen[owner]:
		// The worker is remembered for a while: apply needs the time at which the row was gone.
		case !w.Gone:
			w.Gone, w.UnchangedSince = true, now
			news = true
		case now.Sub(w.UnchangedSince) > goneWorkers*w.Duration:
			delete(o, owner)
		}
	}

	return news
}

// Taking returns the workers that are alive at now and take leases.
func (o Workers) Taking(now time.Time) []string {
	var out []string
	for owner, w := range o {
		if !w.Gone && w.State == "" && now.Sub(w.UnchangedSince) < w.Duration {
			out = append(out, owner)
		}
	}

	return out
}

// NextExpiry returns the time from now until the first worker expires if no worker gives a further
// sign of life, and at most most.
func (o Workers) NextExpiry(now time.Time, most time.Duration) time.Duration {
	for _, w := range o {
		// Not for a worker that has left: its leases are free already.
		if left := w.Duration - now.Sub(w.UnchangedSince); left > 0 && w.State != leases.Left {
			most = min(most, left)
		}
	}

	return most
}

// Apply sets in the leases since when their owners have shown no sign of life.
func (o Workers) Apply(stored map[string]*Observed) {
	for _, l := range stored {
		w := o[l.Owner]

		switch {
		// The row of this owner was never seen: unchangedSince stays the time of the lease itself.
		case l.Owner == "" || w == nil:
		case w.Gone:
			// The owner's row was deleted, so a write of the lease is the only sign of life. Before
			// the deletion the owner had no reason to write the lease, so that time does not count.
			if l.UnchangedSince.Before(w.UnchangedSince) {
				l.UnchangedSince = w.UnchangedSince
			}
		default:
			l.UnchangedSince, l.Duration = w.UnchangedSince, w.Duration
			l.ownerLeft = w.State == leases.Left
		}
	}
}
