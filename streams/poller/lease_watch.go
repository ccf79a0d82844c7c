package poller

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
)

const (
	// lookEvery is how many lease durations there are between two reads of the leases, if nothing
	// requires an earlier read.
	lookEvery = 6

	// keepWorkers is for how many lease durations the row of an ended worker is kept.
	keepWorkers = 10
)

// sight holds this worker's observations of the leases and of the workers.
//
// It looks at the workers every scanInterval, and at the leases when a worker says that it has
// changed some, when a worker has come, gone or expired, while leases are handed over, and
// otherwise every lookEvery lease durations.
type sight struct {
	workers holders.Workers
	leases  map[string]*holders.Observed

	lookedAt time.Time // when the leases were last read; zero before
	quiet    bool      // at lookedAt no lease was free, requested or handed over
}

// watch looks at the workers and leases every scanInterval and whenever checkSoon was
// called.
func (c *coordinator) watch(ctx context.Context, g *errgroup.Group) error {
	// Before the first heartbeat no lease can be taken.
	select {
	case <-ctx.Done():
		return nil
	case <-c.alive.First:
	}

	timer := time.NewTimer(0)
	defer timer.Stop()

	var log worker.LogThrottle
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-c.check:
			asked = true
		}

		ended, err := c.look(ctx, g, asked)
		if ended {
			return streams.ErrStreamEnded
		}
		c.poller.setHealth(err)

		if err != nil && ctx.Err() == nil {
			c.cfg.Events.Fault("Leases", "", err)

			if log.Allow() {
				c.cfg.Log.Warn("looking after the leases failed; retrying", "stream", c.stream.Arn, "err", err)
			}
		}
		// Sooner than scanInterval if a worker without a further sign of life expires before.
		timer.Reset(c.sight.workers.NextExpiry(time.Now(), c.scanInterval))
	}
}

// checkSoon makes watch check the leases at once.
func (c *coordinator) checkSoon() {
	worker.Nudge(c.check)
}

// look looks at the workers, and at the leases if that is due or asked for. It reports
// whether the stream has been handled to its end.
func (c *coordinator) look(ctx context.Context, g *errgroup.Group, asked bool) (ended bool, err error) {
	// A call that hangs must not keep this worker from watching the leases.
	call, cancel := context.WithTimeout(ctx, max(c.cfg.LeaseDuration/2, time.Second))
	defer cancel()

	// A check that was asked for stays due until a look has succeeded.
	c.sight.quiet = c.sight.quiet && !asked

	// A worker expires by the time at which the read began, and a change of its row counts from the
	// time at which the read ended. Both make this worker wait longer rather than too short.
	began := time.Now()

	rows, err := c.table.ReadWorkers(call)
	if err != nil {
		return false, err
	}

	news := c.sight.workers.Observe(rows, time.Now(), c.cfg.LeaseDuration)
	if !news && !c.lookDue(began) {
		return false, nil
	}
	// If the read fails, quiet stays false, so that the next look reads the leases, too.
	c.sight.quiet = false

	return c.checkLeases(ctx, call, g, began)
}

// lookDue reports whether the leases should be read at now although no row of a worker shows a
// change.
func (c *coordinator) lookDue(now time.Time) bool {
	s := &c.sight
	if !s.quiet || now.Sub(s.lookedAt) >= lookEvery*c.cfg.LeaseDuration {
		return true
	}

	for _, l := range s.leases {
		if l.Owner == "" || l.Owner == c.cfg.Owner || l.Finished() {
			continue
		}

		// An owner whose row was deleted is judged by the lease, as in holders.Workers.Apply.
		alive, lasts := l.UnchangedSince, l.Duration
		if w := s.workers[l.Owner]; w != nil {
			alive, lasts = w.UnchangedSince, w.Duration
		}

		if now.Sub(alive) >= lasts {
			return true
		}
	}

	return false
}

// checkLeases reads the leases once and carries out the planner's decisions as of began. It reports
// whether the stream has been handled to its end.
func (c *coordinator) checkLeases(ctx, call context.Context, g *errgroup.Group, began time.Time) (ended bool, err error) {
	stored, state, err := c.table.Read(call)
	if err != nil {
		return false, err
	}

	c.sight.leases = holders.Observe(c.sight.leases, stored, time.Now(), c.cfg.LeaseDuration)
	c.sight.workers.Apply(c.sight.leases)
	c.sight.lookedAt = began

	workers := slices.DeleteFunc(c.sight.workers.Taking(began), c.cfg.Ended)
	// At least 1: this worker may have no row yet, and needs its part of the calls.
	c.stream.ShareLookups(max(len(workers), 1))
	c.compareHeld(began)

	todo := holders.Planner{
		Me:           c.cfg.Owner,
		Ended:        c.cfg.Ended,
		ScanInterval: c.scanInterval,
		Holds:        c.poller.holds,
		Workers:      workers,
	}.Decide(c.sight.leases, began)

	c.handOver(todo.HandOver)

	// The steps are independent: if one fails, the others are still made. The next check decides
	// again about all of them.
	var errs []error
	for _, lease := range todo.Withdraw {
		errs = append(errs, c.table.WithdrawRequest(call, lease.Lease))
	}
	errs = append(errs,
		c.takeLeases(ctx, call, g, todo.Take),
		c.requestLeases(call, todo.Request),
		c.deleteWorkers(call, began),
	)
	err = errors.Join(errs...)

	c.sight.quiet = todo.Quiet && err == nil
	c.discovery.NoteObservation(state, todo.Open, began)

	return c.streamEnded(todo.Open), err
}

// deleteWorkers deletes the rows of workers that have ended and own no lease any more.
func (c *coordinator) deleteWorkers(ctx context.Context, now time.Time) error {
	owners := map[string]bool{c.cfg.Owner: true}
	for _, l := range c.sight.leases {
		owners[l.Owner] = true
	}

	for owner, w := range c.sight.workers {
		if w.Gone || owners[owner] || now.Sub(w.UnchangedSince) < keepWorkers*w.Duration {
			continue
		}

		if err := c.table.DeleteWorker(ctx, w.WorkerRow); err != nil {
			return err
		}
	}

	return nil
}

// compareHeld compares the leases that this worker holds with a read of the leases that started at
// or after began. A missing row was deleted, and is restored. A lease with another owner is lost.
// compareHeld also sets childKnown for the shards that have children.
func (c *coordinator) compareHeld(began time.Time) {
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()

	for id, w := range c.poller.held {
		l := c.sight.leases[id]

		switch {
		// A lease that was taken after began may be missing from the read although it is stored.
		case l == nil && w.Lease.TakenAt().Before(began):
			w.Touch()
		case l != nil && l.Owner != c.cfg.Owner && l.Epoch > w.Lease.Epoch.Load():
			w.Lose()
		}
	}

	for _, lease := range c.sight.leases {
		if parent := c.poller.held[lease.Parent]; parent != nil {
			parent.Reader.ChildKnown.Store(true)
		}
	}
}
