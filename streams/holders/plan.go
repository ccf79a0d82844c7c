package holders

import (
	"maps"
	"slices"
	"time"
)

// minRequests is how many requests for leases a worker may have open, or a quarter of its share if
// that is more.
const minRequests = 4

// plan says what a worker should do about the leases that it sees.
type plan struct {
	Take     []*Observed // free, and due to this worker
	Request  []*Observed // ask their owners to hand them over
	HandOver []string    // shards held here that another worker asked for
	Withdraw []*Observed // requests that were not met in time
	Open     int         // leases that are not finished
	Quiet    bool        // no lease is free, requested or to be handed over
}

// Planner decides for one worker which leases to take, to ask for and to hand
// over. All workers follow the same rules on the same rows, so no leader is needed:
//
//   - A lease is expired when its owner has shown no sign of life for the whole duration of the
//     owner's leases on this worker's clock, has left, or has ended for certain. Expired leases count as free.
//   - A child is free only when its parent is finished.
//   - A worker takes free leases up to its fair share. A lease that stays free for two scan
//     intervals may be taken by any worker.
//   - When no lease is free, a worker that has at least two leases less than the busiest worker
//     requests some of the busiest worker's leases: it writes its name into them. The owner drains
//     the shard and releases the lease. The request stays and reserves the free lease.
type Planner struct {
	Me           string
	Ended        func(owner string) bool // whether a worker has ended for certain
	ScanInterval time.Duration           // time between two observations
	Holds        func(shard string) bool // whether this worker reads the shard now
	Workers      []string                // the workers that are known to take leases
}

// Decide returns the plan for the observed leases at now. It reads no clock and
// changes nothing but freeSince of the leases.
func (p Planner) Decide(observed map[string]*Observed, now time.Time) plan {
	out := plan{Quiet: true}

	// Leases per worker. Workers without a lease get a share, too. A requested lease counts
	// for the worker that gets it.
	load := map[string]int{p.Me: 0}
	for _, worker := range p.Workers {
		load[worker] = 0
	}
	var free, requestable []*Observed
	pending := 0 // requests of this worker that are not met yet

	// In the order of the ids, so that all workers consider the leases in the same order.
	for _, id := range slices.Sorted(maps.Keys(observed)) {
		lease := observed[id]
		if lease.Finished() {
			continue
		}
		out.Open++

		owner := p.owner(lease, now)
		if owner == "" {
			// freeSince begins when the parent is finished. Otherwise the lease would have been
			// free for long by then, and the first worker that looks would take it regardless of
			// the shares.
			if !parentFinished(lease, observed) {
				lease.freeSince = time.Time{}
				continue
			}

			if lease.freeSince.IsZero() {
				lease.freeSince = now
			}
			free = append(free, lease)

			continue
		}
		lease.freeSince = time.Time{}
		out.Quiet = out.Quiet && lease.RequestedBy == ""

		requester := p.requestedBy(lease, now)
		switch {
		case lease.RequestedBy != "" && requester == "":
			out.Withdraw = append(out.Withdraw, lease)
		case requester == p.Me && owner != p.Me:
			pending++
		case requester != "" && requester != owner && owner == p.Me:
			out.HandOver = append(out.HandOver, id)
		}

		if requester == "" {
			load[owner]++
			if owner != p.Me {
				requestable = append(requestable, lease)
			}
		} else {
			load[requester]++
		}
	}

	p.takeFree(&out, free, load, now)

	// Not while leases are free: taking them may be enough to make the shares even.
	if len(free) == 0 {
		p.requestFromBusiest(&out, requestable, load, max(minRequests, out.Open/len(load)/4)-pending)
	}
	out.Quiet = out.Quiet && len(free) == 0 && len(out.Request) == 0

	return out
}

// takeFree picks the free leases that are due to this worker.
func (p Planner) takeFree(out *plan, free []*Observed, load map[string]int, now time.Time) {
	// Rounded up: otherwise some leases would be in no worker's share.
	total := len(free)
	for _, n := range load {
		total += n
	}
	share := (total + len(load) - 1) / len(load)

	for _, lease := range free {
		requester := p.requestedBy(lease, now)
		switch {
		case p.Holds(lease.Shard):
			continue // this worker has lost the lease, and its handlers still run
		case requester == p.Me:
		case requester != "":
			continue // reserved
		case load[p.Me] >= share && now.Sub(lease.freeSince) < 2*p.ScanInterval:
			continue // a worker with fewer leases comes first
		}

		out.Take = append(out.Take, lease)
		load[p.Me]++
	}
}

// requestFromBusiest picks up to limit leases of the busiest workers, as long as each makes the
// shares more even. If the busiest worker has one lease more than this one, it keeps that lease:
// afterwards this worker would have one more.
func (p Planner) requestFromBusiest(out *plan, requestable []*Observed, load map[string]int, limit int) {
	byOwner := map[string][]*Observed{}
	for _, l := range requestable {
		byOwner[l.Owner] = append(byOwner[l.Owner], l)
	}

	for ; limit > 0; limit-- {
		// Ties are broken by name, so that all workers choose the same one.
		busiest := ""
		for worker, n := range load {
			if n > load[busiest] || (n == load[busiest] && worker < busiest) {
				busiest = worker
			}
		}

		if load[busiest]-load[p.Me] < 2 {
			return
		}

		its := byOwner[busiest]
		if len(its) == 0 {
			// The busiest worker may not hold its leases yet: a requested lease counts for the
			// worker that requested it.
			return
		}

		out.Request = append(out.Request, its[0])
		byOwner[busiest] = its[1:]
		load[busiest]--
		load[p.Me]++
	}
}

// owner returns who holds the lease at now, "" if it may be taken.
func (p Planner) owner(l *Observed, now time.Time) string {
	switch {
	case l.Owner == p.Me:
		// The table names this worker as the owner, but no shardWorker runs: the lease lapsed here.
		// This worker may take it again.
		if !p.Holds(l.Shard) {
			return ""
		}
	case l.ownerLeft, p.Ended(l.Owner), now.Sub(l.UnchangedSince) >= l.Duration:
		return ""
	}

	return l.Owner
}

// requestedBy returns the worker whose request for the lease still counts, "" if
// there is none. An owner gets three lease durations to drain the shard; a free
// lease is reserved for four scan intervals.
func (p Planner) requestedBy(l *Observed, now time.Time) string {
	if l.Owner == "" {
		if !l.freeSince.IsZero() && now.Sub(l.freeSince) >= 4*p.ScanInterval {
			return ""
		}

		return l.RequestedBy
	}

	if now.Sub(l.requestSince) >= 3*l.Duration {
		return ""
	}

	return l.RequestedBy
}

// parentFinished reports whether every record of the parent has been handled. A parent whose lease
// is not known does not count as finished: discovery decides when the shard stops waiting for it.
func parentFinished(l *Observed, observed map[string]*Observed) bool {
	if l.Parent == "" || l.ParentDone {
		return true
	}
	parent := observed[l.Parent]

	return parent != nil && parent.Finished()
}
