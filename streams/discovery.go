package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

const (
	// tombstoneAge is how long the lease of a finished shard is kept: longer than
	// the service lists the shard, so that it is never taken for a new one.
	tombstoneAge = horizon + 2*time.Hour

	// soon is the interval between listings while something is unclear.
	soon = 2 * time.Second
	// discoveryRetry is the pause after a failed listing.
	discoveryRetry = time.Second

	// absencesOfOldParent is how many complete listings must lack the parent of a
	// shard before the shard stops waiting for it.
	// absencesOfYoungParent is the same for a parent that is less than 24 h old: it
	// must have been listed, but no shard waits without end.
	absencesOfOldParent   = 3
	absencesOfYoungParent = 30
)

// discovery keeps the leases of a stream in line with its shards. Usually the
// children of a shard are found when the shard ends; discovery creates the first
// leases of a stream, finds what was missed, lets shards begin whose parents were
// trimmed, and deletes old leases.
//
// All workers have one, but only one worker lists per interval: the one whose update
// of the counter in the stream's state succeeds.
type discovery struct {
	cfg          *Config
	stream       *stream
	table        *leaseTable
	scanInterval time.Duration
	changed      func() // the leases should be checked soon

	// Used by run only.
	start          Position           // where a stream without a state begins
	parentAbsences map[string]absence // by shard: listings without the shard's parent
	unclear        bool               // list again soon

	mu             sync.Mutex
	state          *streamState // as last observed, nil if there is none
	stateSince     time.Time    // since when it has been like that; zero before the first observation
	openLeases     int          // as last observed
	closedListings int          // how many listings in a row said that no more records will come
}

func newDiscovery(c *coordinator, start Position) *discovery {
	return &discovery{
		cfg:            c.cfg,
		stream:         c.stream,
		table:          c.table,
		scanInterval:   c.scanInterval,
		changed:        c.checkSoon,
		start:          start,
		parentAbsences: map[string]absence{},
	}
}

// noteObservation takes in what the coordinator has read.
func (d *discovery) noteObservation(state *streamState, openLeases int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()

	changed := (d.state == nil) != (state == nil) || (state != nil && d.state.listings != state.listings)
	if changed || d.stateSince.IsZero() {
		d.stateSince = now
	}
	d.state, d.openLeases = state, openLeases
}

// streamClosed reports whether two listings in a row said that the stream gets no more
// records.
func (d *discovery) streamClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.closedListings >= 2
}

// run lists the stream when a listing is due, until ctx ends.
func (d *discovery) run(ctx context.Context) {
	// The stream has begun. If its state is missing from now on, it was deleted, and
	// Latest would skip what was not handled yet.
	d.start = TrimHorizon

	pause := d.scanInterval
	for worker.Wait(ctx, pause) {
		pause = d.scanInterval
		if err := d.discover(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Events.fault("DescribeStream", "", err)
			pause = discoveryRetry
		}
	}
}

// discover lists the stream if that is due and no other worker does it.
func (d *discovery) discover(ctx context.Context) error {
	d.mu.Lock()
	state, since, open := d.state, d.stateSince, d.openLeases
	d.mu.Unlock()

	interval := d.cfg.DiscoverEvery
	switch {
	case since.IsZero():
		return nil // nothing observed yet
	case state == nil:
		// Rows were deleted. Give the holders of leases time to restore theirs.
		interval = d.cfg.LeaseDuration
	case open == 0 || d.unclear:
		interval = min(interval, soon)
	}

	if time.Since(since) < interval {
		return nil
	}

	if state == nil {
		return d.bootstrap(ctx)
	}

	// The counter is incremented before the listing: of all workers that find it due,
	// one succeeds, and a crash after this costs one interval.
	claim := d.table.update(streamStateRow).
		IfEquals(streamStateListings, dynamo.N(state.listings)).
		SetValue(streamStateListings, dynamo.N(state.listings+1))
	if _, applied, err := applyUpdate(ctx, d.table.api, claim); err != nil || !applied {
		return err
	}

	// If the listing fails, the next one is due after another interval.
	d.mu.Lock()
	d.stateSince = time.Now()
	d.mu.Unlock()

	l, err := d.stream.list(ctx)
	if err != nil {
		d.unclear = d.unclear || errors.Is(err, errUnconfirmed)
		return err
	}

	leases, _, err := d.table.read(ctx)
	if err != nil {
		return err
	}

	known := make(map[string]Lease, len(leases))
	for _, lease := range leases {
		known[lease.Shard] = lease
	}

	return d.reconcile(ctx, l, known)
}

// reconcile brings the leases in line with a complete listing.
func (d *discovery) reconcile(ctx context.Context, l listing, known map[string]Lease) error {
	d.unclear = false

	inserted := false
	for id, shard := range l.shards {
		if _, ok := known[id]; ok {
			continue
		}

		lease := Lease{Shard: id, Parent: deref(shard.ParentShardId), Epoch: time.Now().Unix()}

		stored, err := d.table.insert(ctx, lease)
		if err != nil {
			return err
		}
		inserted = inserted || stored
	}

	// The unread leases of a stream that is gone are taken like all others: their readers
	// declare the gaps.
	if err := d.cleanUp(ctx, l, known); err != nil {
		return err
	}

	// A lease that was inserted just now is not among the observed ones yet.
	d.mu.Lock()
	if l.closed() && !inserted {
		d.closedListings++
	} else {
		d.closedListings = 0
	}
	d.mu.Unlock()
	d.changed()

	return nil
}

func (d *discovery) cleanUp(ctx context.Context, l listing, known map[string]Lease) error {
	for _, lease := range known {
		if err := d.stopWaitingForParent(ctx, lease, l, known); err != nil {
			return err
		}

		if err := d.deleteTombstone(ctx, lease, l, known); err != nil {
			return err
		}
	}

	return nil
}

// stopWaitingForParent lets a shard begin whose parent is neither listed nor known.
// Such a parent was trimmed long ago, so nothing of it is left to be handled first.
// But a listing may lack a shard by mistake, so several listings must agree, over a
// while.
func (d *discovery) stopWaitingForParent(ctx context.Context, lease Lease, l listing, known map[string]Lease) error {
	if lease.Parent == "" || lease.ParentDone || lease.Finished() {
		return nil
	}

	_, hasLease := known[lease.Parent]
	_, listed := l.shards[lease.Parent]
	if hasLease || listed {
		delete(d.parentAbsences, lease.Shard)
		return nil
	}

	needed := absencesOfOldParent
	if createdAt := shardCreatedAt(lease.Parent); !createdAt.IsZero() && time.Since(createdAt) < horizon {
		needed = absencesOfYoungParent
	}

	absent := d.parentAbsences[lease.Shard]
	if absent.listings++; absent.listings == 1 {
		absent.since = time.Now()
	}
	d.parentAbsences[lease.Shard] = absent

	if absent.listings < needed || time.Since(absent.since) < d.cfg.confirmOver() {
		d.unclear = true
		return nil
	}

	d.cfg.Log.Info("the shard's parent is gone; reading the shard", "shard", lease.Shard, "parent", lease.Parent)
	delete(d.parentAbsences, lease.Shard)

	return d.table.markParentDone(ctx, lease)
}

// absence says how many listings in a row have lacked a shard's parent.
type absence struct {
	listings int
	since    time.Time
}

// deleteTombstone deletes the lease of a shard that was finished long ago, if the
// shard is no longer listed and no child waits for it.
func (d *discovery) deleteTombstone(ctx context.Context, lease Lease, l listing, known map[string]Lease) error {
	if !lease.Finished() || time.Since(lease.FinishedAt) < tombstoneAge {
		return nil
	}

	if _, listed := l.shards[lease.Shard]; listed {
		return nil
	}

	for _, other := range known {
		if other.Parent == lease.Shard && !other.ParentDone {
			return nil
		}
	}

	return d.table.deleteRow(ctx, lease.Shard)
}
