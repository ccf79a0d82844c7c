package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// turn is the time of a job in one of the places of a runner.
type turn struct {
	tenant string
	since  time.Time
	over   atomic.Bool
}

// errTurn means that the job makes room for another one, and goes on later.
var errTurn = fmt.Errorf("jobs: another job has its turn: %w", context.Canceled)

// isOver reports whether the job should make room. A job without a turn keeps its place.
func (t *turn) isOver() bool { return t != nil && t.over.Load() }

// share is how many jobs of one tenant run at the same time.
func (r *Runner) share() int { return max(r.cfg.AtOnce/2, 1) }

// inOrder sorts jobs by their last turn in this process, those that had none first, and then by age.
func (r *Runner) inOrder(open []Job) {
	r.mu.Lock()
	defer r.mu.Unlock()

	slices.SortFunc(open, func(a, b Job) int {
		return cmp.Or(r.begun[a.ID].Compare(r.begun[b.ID]), cmp.Compare(a.ID, b.ID))
	})
}

// begin gives the job a turn, if there is a place for its tenant. Otherwise it ends the turn of a job that has the place
// for long.
func (r *Runner) begin(j Job) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.turns[j.ID] != nil {
		return nil
	}

	var others []*turn // of the tenant
	for _, t := range r.turns {
		if t.tenant == j.Tenant {
			others = append(others, t)
		}
	}

	switch {
	case len(others) >= r.share():
		r.makeRoom(others)
		return nil
	case len(r.turns) >= r.cfg.AtOnce:
		r.makeRoom(slices.Collect(maps.Values(r.turns)))
		return nil
	}

	t := &turn{tenant: j.Tenant, since: time.Now()}
	r.turns[j.ID], r.begun[j.ID] = t, t.since

	return t
}

// makeRoom ends the longest of the turns that have had their time.
func (r *Runner) makeRoom(turns []*turn) {
	var longest *turn
	for _, t := range turns {
		if !t.over.Load() && time.Since(t.since) >= r.cfg.turn && (longest == nil || t.since.Before(longest.since)) {
			longest = t
		}
	}

	if longest != nil {
		longest.over.Store(true)
	}
}

func (r *Runner) end(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.turns, id)
}

// goOn returns why the work must end now, nil if it goes on.
func (o *owned) goOn(ctx, lease context.Context) error {
	switch {
	case lease.Err() != nil:
		return context.Cause(lease)
	case o.wanted() != "":
		return errWanted
	// A selection would begin again.
	case o.job.Selected && o.turn.isOver():
		return errTurn
	}

	return ctx.Err()
}
