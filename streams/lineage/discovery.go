package lineage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

const (
	// soon is the interval between listings while something is unclear.
	soon = 2 * time.Second
	// discoveryRetry is the pause after a failed listing.
	discoveryRetry = time.Second
)

// Discovery keeps the leases of a stream in line with its shards. Usually the
// children of a shard are found when the shard ends; Discovery creates the first
// leases of a stream, finds missed children, lets shards begin whose parents were
// trimmed, and deletes old leases.
//
// All workers have one, but only one worker lists per interval: the one whose update
// of the counter in the stream's state succeeds.
type Discovery struct {
	Cfg          *Config
	stream       *Stream
	table        *leases.Table
	scanInterval time.Duration
	changed      func()      // makes this worker check the leases
	inserted     func()      // makes the other workers check the leases
	asked        atomic.Bool // a shard has ended: list soon

	// Used by run only.
	start          streams.Position        // where a stream without a state begins
	parentAbsences map[string]Confirmation // by shard: listings in a row without the shard's parent
	unclear        bool                    // list again soon
	finished       map[string]leases.Lease // moved tombstones; if one is missing here, InsertShard finds it
	finishedReadAt time.Time

	mu             sync.Mutex
	state          *leases.StreamState // as last observed, nil if there is none
	stateSince     time.Time           // when state.listings was first seen; zero before the first observation
	openLeases     int                 // as last observed
	closedListings int                 // how many listings in a row said that the stream is closed
}

// NewDiscovery returns the discovery of a stream. It looks at the stream's state every scanInterval.
// After a change of the leases it calls changed, after an insert also inserted.
func NewDiscovery(cfg *Config, stream *Stream, table *leases.Table, start streams.Position, scanInterval time.Duration, changed, inserted func()) *Discovery {
	return &Discovery{
		Cfg:            cfg,
		stream:         stream,
		table:          table,
		scanInterval:   scanInterval,
		changed:        changed,
		inserted:       inserted,
		start:          start,
		parentAbsences: map[string]Confirmation{},
		finished:       map[string]leases.Lease{},
	}
}

// NoteObservation records the state and the number of open leases that the coordinator has read.
func (d *Discovery) NoteObservation(state *leases.StreamState, openLeases int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()

	changed := (d.state == nil) != (state == nil) || (state != nil && d.state.Listings != state.Listings)
	if changed || d.stateSince.IsZero() {
		d.stateSince = now
	}
	d.state, d.openLeases = state, openLeases
}

// StreamClosed reports whether two listings in a row said that the stream gets no more
// records.
func (d *Discovery) StreamClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.closedListings >= 2
}

// ErrRecreated reports that the stored leases belong to an earlier stream with the same ARN.
var ErrRecreated = errors.New("streams: the stream was recreated under the same ARN")

// Run lists the stream when a listing is due, until ctx ends. Its only error is ErrRecreated.
func (d *Discovery) Run(ctx context.Context) error {
	// The stream has begun. If its state is missing from now on, it was deleted, and
	// Latest would skip records that were not handled yet.
	d.start = streams.TrimHorizon

	pause := d.scanInterval
	for worker.Wait(ctx, pause) {
		pause = d.scanInterval

		err := d.Discover(ctx)
		if errors.Is(err, ErrRecreated) {
			return err
		}

		if err != nil && ctx.Err() == nil {
			d.Cfg.Events.Fault("DescribeStream", "", err)
			pause = discoveryRetry
		}
	}

	return nil
}

// Discover lists the stream if that is due and no other worker does it.
func (d *Discovery) Discover(ctx context.Context) error {
	d.mu.Lock()
	state, since, open := d.state, d.stateSince, d.openLeases
	d.mu.Unlock()

	interval := d.Cfg.DiscoverEvery
	switch {
	case since.IsZero():
		return nil // nothing observed yet
	case state == nil:
		// The state's row was deleted, maybe with leases. Their holders get time to restore them.
		interval = d.Cfg.LeaseDuration
	case open == 0 || d.unclear || d.asked.Load():
		// Other workers must not begin a listing while a long listing is still running.
		interval = min(interval, soon+2*listingTime(open))
	}

	if time.Since(since) < interval {
		return nil
	}

	if state == nil {
		return d.Bootstrap(ctx)
	}

	// The counter is incremented before the listing. Of all workers that find the listing due, one
	// succeeds. If that worker crashes, the listing is made one interval later.
	_, applied, err := store.Apply(ctx, d.table.API, d.table.NextListing(state))
	if err == nil && !applied {
		d.changed() // another worker lists: read the counter that it has written
	}

	if err != nil || !applied {
		return err
	}

	// If the listing fails, the next one is due after another interval.
	d.mu.Lock()
	d.stateSince = time.Now()
	d.mu.Unlock()

	l, err := d.stream.list(ctx)
	if err != nil {
		d.unclear = d.unclear || errors.Is(err, ErrUnconfirmed)
		return err
	}

	// Read after the listing, so that a lease that was stored during the listing is known.
	stored, now, err := d.table.Read(ctx)
	if err != nil {
		return err
	}

	if now != nil && isOtherStream(now, l) {
		return ErrRecreated
	}

	d.mu.Lock()
	d.state = now
	d.mu.Unlock()
	d.asked.Store(false)

	return d.Reconcile(ctx, l, leases.ByShard(stored))
}

// listingTime is about how long it takes to list so many shards.
func listingTime(shards int) time.Duration {
	return time.Duration(shards/describePageSize) * time.Second / listingRate
}

// Ask asks for a listing soon, because a shard has ended and its children are not known.
func (d *Discovery) Ask() { d.asked.Store(true) }
