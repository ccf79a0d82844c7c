package streams

import (
	"slices"
	"strings"
	"time"
)

// sighting is a lease as this worker saw it, and since when it has been so. The
// instants are monotonic: other workers' clocks do not matter.
type sighting struct {
	Lease
	since     time.Time // counter and epoch unchanged
	freeSince time.Time // without owner, or expired; zero when held
	wantSince time.Time // wanted unchanged
}

// see merges a fresh read of the leases into what was seen before.
func see(before map[string]*sighting, leases []Lease, now time.Time) map[string]*sighting {
	after := make(map[string]*sighting, len(leases))
	for _, l := range leases {
		s, was := &sighting{Lease: l, since: now}, before[l.Shard]
		if was != nil && was.Counter == l.Counter && was.Epoch == l.Epoch {
			s.since = was.since
		}

		if l.Wanted != "" {
			s.wantSince = now
			if was != nil && was.Wanted == l.Wanted {
				s.wantSince = was.wantSince
			}
		}

		if was != nil {
			s.freeSince = was.freeSince
		}
		after[l.Shard] = s
	}

	return after
}

// plan is what a worker should do about the leases it sees.
type plan struct {
	take     []*sighting // free, due to me
	want     []*sighting // ask their owners to hand them over
	handOver []string    // mine, wanted by somebody else
	unwant   []*sighting // asked for by somebody who never came
	open     int         // leases that are not finished
}

// planner decides for one worker.
type planner struct {
	me    string
	lease time.Duration // LeaseDuration
	scan  time.Duration // time between two looks
	held  func(shard string) bool
}

// handOvers bounds how many leases a worker asks for at once.
const handOvers = 4

// decide is a pure function of what was seen. Fair means: nobody has two leases
// more than another; a free lease goes to whoever has less than its share, or,
// if it stays free, to anybody.
func (p planner) decide(seen map[string]*sighting, now time.Time) plan {
	var out plan

	load := map[string]int{p.me: 0}
	asked := 0
	var free, theirs []*sighting
	for _, id := range sortedKeys(seen) {
		s := seen[id]
		if s.Finished() {
			continue
		}
		out.open++

		owner := p.holder(s, now)
		if owner == "" {
			if s.freeSince.IsZero() {
				s.freeSince = now
			}

			if p.ready(s, seen) {
				free = append(free, s)
			}
			continue
		}

		s.freeSince = time.Time{}
		wanted := p.wanter(s, now)
		switch {
		case s.Wanted != "" && wanted == "":
			out.unwant = append(out.unwant, s)
		case wanted == p.me && owner != p.me:
			asked++
		case wanted != "" && wanted != owner && owner == p.me:
			out.handOver = append(out.handOver, id)
		}

		if wanted != "" {
			owner = wanted
		}

		load[owner]++
		if owner != p.me && wanted == "" {
			theirs = append(theirs, s)
		}
	}
	p.takeFree(&out, free, load, now)

	if len(out.take) == 0 && len(free) == 0 {
		p.ask(&out, theirs, load, handOvers-asked)
	}

	return out
}

// takeFree picks the free leases that are due to me.
func (p planner) takeFree(out *plan, free []*sighting, load map[string]int, now time.Time) {
	total := len(free)
	for _, n := range load {
		total += n
	}

	share := (total + len(load) - 1) / len(load)
	for _, s := range free {
		wanted := p.wanter(s, now)
		switch {
		case wanted == p.me:
		case wanted != "":
			continue // reserved for who asked
		case load[p.me] >= share && now.Sub(s.freeSince) < 2*p.scan:
			continue // somebody with less comes first
		}
		out.take = append(out.take, s)
		load[p.me]++
	}
}

// ask picks leases of the busiest worker, as long as that makes things fairer.
func (p planner) ask(out *plan, theirs []*sighting, load map[string]int, limit int) {
	for ; limit > 0; limit-- {
		busiest := ""
		for owner, n := range load {
			if n > load[busiest] || (n == load[busiest] && owner < busiest) {
				busiest = owner
			}
		}

		if load[busiest]-load[p.me] < 2 {
			return
		}

		i := slices.IndexFunc(theirs, func(s *sighting) bool { return s.Owner == busiest })
		if i < 0 {
			return
		}
		out.want = append(out.want, theirs[i])
		theirs = slices.Delete(theirs, i, i+1)
		load[busiest]--
		load[p.me]++
	}
}

// holder is who has the lease at now, "" when it may be taken: nobody has it, it
// has not been renewed for a whole span, or it is mine in the table but not
// here, since I had to stop myself.
func (p planner) holder(s *sighting, now time.Time) string {
	switch {
	case s.Owner == "", s.Owner != p.me && now.Sub(s.since) >= p.lease, s.Owner == p.me && !p.held(s.Shard):
		return ""
	}

	return s.Owner
}

// wanter is who asked for the lease, "" when nobody did or the one who did had
// time enough to take it.
func (p planner) wanter(s *sighting, now time.Time) string {
	patience := 3 * p.lease
	if s.Owner == "" {
		patience = 4 * p.scan
		if now.Sub(s.freeSince) >= patience && !s.freeSince.IsZero() {
			return ""
		}

		return s.Wanted
	}

	if now.Sub(s.wantSince) >= patience {
		return ""
	}

	return s.Wanted
}

// ready reports whether every record of the parent has been handled.
func (p planner) ready(s *sighting, seen map[string]*sighting) bool {
	if s.Parent == "" || s.ParentDone {
		return true
	}
	parent := seen[s.Parent]

	return parent != nil && parent.Finished()
}

func sortedKeys(m map[string]*sighting) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)

	return keys
}
