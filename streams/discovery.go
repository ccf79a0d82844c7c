package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Rows of the lease table that are no leases.
const (
	// markerRow, under the stream's ARN, tells how the stream was begun with.
	markerRow     = "#stream"
	markerCreated = "createdAt"
	markerStartAt = "startAt"
	markerReady   = "ready"
	markerTurns   = "counter"
	// currentRow, under "table/" and the table's name, has the stream's ARN.
	currentRow    = "#current"
	currentPrefix = "table/"
	currentARN    = "streamArn"
)

// tombstoneFor is how long the lease of a finished shard is kept: longer than
// the service lists the shard, so that it is never taken for a new one.
const tombstoneFor = horizon + 2*time.Hour

// absences is how many complete listings must lack a parent of unknown age
// before its child is not kept waiting any longer.
const absences = 3

// errView refuses a stream whose records lack what handlers need.
var errView = errors.New("streams: wrong view type")

// marker says how reading of a stream began, and whose turn it is to list it.
type marker struct {
	created time.Time // the stream's creation: another one means another stream
	startAt time.Time // where the shards of the first listing begin; zero: oldest
	ready   bool      // the first listing is stored
	turns   int64     // listings so far
}

func decodeMarker(it item) *marker {
	return &marker{
		created: millis(it, markerCreated), startAt: millis(it, markerStartAt),
		ready: boolean(it, markerReady), turns: num(it, markerTurns),
	}
}

// bootstrap makes sure that the stream has a marker and that the shards of the
// first listing have leases. Any number of workers may do it at once, and any
// may crash in between.
func (f *fleet) bootstrap(ctx context.Context) error {
	l, err := f.stream.list(ctx)
	if err != nil {
		return err
	}

	if l.gone {
		return fmt.Errorf("%w: %s does not exist", errStreamEnded, f.stream.arn)
	}

	if v := l.view; f.p.cfg.NeedImages && v != "" && v != streamtypes.StreamViewTypeNewAndOldImages {
		return fmt.Errorf("%w: %s has %s, want NEW_AND_OLD_IMAGES", errView, f.stream.arn, v)
	}

	leases, mark, err := queryLeases(ctx, f.table.api, f.table.table, f.table.stream)
	if err != nil {
		return err
	}

	if mark != nil && !mark.created.IsZero() && !l.created.IsZero() && mark.created.UnixMilli() != l.created.UnixMilli() {
		// The same name, but another stream: an emulator that was started afresh.
		// Its sequence numbers mean nothing here.
		if err := f.forget(ctx, leases); err != nil {
			return err
		}
		mark = nil
	}

	if mark == nil {
		if mark, err = f.begin(ctx, l); err != nil {
			return err
		}
	}

	if mark.ready {
		return nil
	}

	for id, sh := range l.shards {
		lease := Lease{
			Shard: id, Parent: deref(sh.ParentShardId), StartAt: mark.startAt, AtHorizon: mark.startAt.IsZero(),
			Epoch: time.Now().Unix(),
		}
		if _, err := f.table.insert(ctx, lease); err != nil {
			return err
		}
	}
	u := newChange(f.table.table, leaseKey(f.table.stream, markerRow))
	u.present(leaseShard)
	u.set(markerReady, avBool(true))

	if _, _, err := u.apply(ctx, f.table.api); err != nil {
		return fmt.Errorf("streams: note that %s is begun: %w", f.stream.arn, err)
	}

	return nil
}

// begin stores the marker, or reads the one that another worker has stored.
func (f *fleet) begin(ctx context.Context, l listing) (*marker, error) {
	it := leaseKey(f.table.stream, markerRow)
	it[markerTurns] = avN(0)
	if !l.created.IsZero() {
		it[markerCreated] = avN(l.created.UnixMilli())
	}

	if f.start == Latest {
		// By the service's clock where it tells: ours may be ahead of it.
		now := l.server
		if now.IsZero() {
			now = time.Now()
		}
		it[markerStartAt] = avN(now.UnixMilli())
	}

	if _, err := f.table.put(ctx, it); err != nil {
		return nil, err
	}

	_, mark, err := queryLeases(ctx, f.table.api, f.table.table, f.table.stream)
	if err == nil && mark == nil {
		err = errors.New("streams: the marker of " + f.stream.arn + " vanished")
	}

	return mark, err
}

// forget deletes all that is stored about a stream of the same name.
func (f *fleet) forget(ctx context.Context, leases []Lease) error {
	f.p.cfg.Log.Warn("the stream was made anew under the same ARN; starting over", "stream", f.stream.arn)

	for _, l := range leases {
		if err := f.table.remove(ctx, l.Shard); err != nil {
			return fmt.Errorf("streams: forget lease %s: %w", l.Shard, err)
		}
	}

	if err := f.table.remove(ctx, markerRow); err != nil {
		return fmt.Errorf("streams: forget %s: %w", f.stream.arn, err)
	}

	return nil
}

// keepListing lists the stream now and then until ctx ends.
func (f *fleet) keepListing(ctx context.Context) {
	f.start = TrimHorizon // from here on, a row that is missing was lost
	pause := f.scan
	for rest(ctx, pause) {
		pause = f.scan
		if err := f.discover(ctx); err != nil && ctx.Err() == nil {
			f.p.cfg.fault("DescribeStream", "", err)
			pause = faultPauseMax / 10
		}
	}
}

// discover lists the stream when it is time and this worker's turn: one worker
// of the fleet does so per interval. Children are found at the end of their
// parents; this is the net below, and finds the first shards of a new stream.
func (f *fleet) discover(ctx context.Context) error {
	f.mu.Lock()
	mark, since, open := f.mark, f.markAt, f.open
	f.mu.Unlock()

	every := f.p.cfg.DiscoverEvery
	switch {
	case since.IsZero():
		return nil // nothing seen yet
	case mark == nil:
		every = f.p.cfg.LeaseDuration // rows were deleted under our hands: holders restore theirs first
	case open == 0 || f.quick:
		every = min(every, 2*time.Second)
	}

	if time.Since(since) < every {
		return nil
	}

	if mark == nil {
		return f.bootstrap(ctx)
	}
	u := newChange(f.table.table, leaseKey(f.table.stream, markerRow))
	u.equals(markerTurns, avN(mark.turns))
	u.set(markerTurns, avN(mark.turns+1))

	if _, refused, err := u.apply(ctx, f.table.api); refused || err != nil {
		return err
	}
	f.mu.Lock()
	f.markAt = time.Now()
	f.mu.Unlock()

	l, err := f.stream.list(ctx)
	if err != nil {
		return err
	}

	leases, _, err := queryLeases(ctx, f.table.api, f.table.table, f.table.stream)
	if err != nil {
		return err
	}

	known := make(map[string]Lease, len(leases))
	for _, lease := range leases {
		known[lease.Shard] = lease
	}

	return f.reconcile(ctx, l, known)
}

// reconcile brings the leases in line with a complete listing.
func (f *fleet) reconcile(ctx context.Context, l listing, known map[string]Lease) error {
	f.quick = false
	fresh := false
	for id, sh := range l.shards {
		if _, ok := known[id]; ok {
			continue
		}

		stored, err := f.table.insert(ctx, Lease{Shard: id, Parent: deref(sh.ParentShardId), Epoch: time.Now().Unix()})
		if err != nil {
			return err
		}
		fresh = fresh || stored
	}

	if l.gone {
		if err := f.finishGone(ctx, known); err != nil {
			return err
		}
	} else if err := f.tidy(ctx, l, known); err != nil {
		return err
	}
	f.mu.Lock()
	f.ended = l.closed() && !fresh
	f.mu.Unlock()
	f.nudge()

	return nil
}

// tidy sees to shards without a parent and to leases that have had their day.
func (f *fleet) tidy(ctx context.Context, l listing, known map[string]Lease) error {
	for _, s := range known {
		if err := f.parentless(ctx, s, l, known); err != nil {
			return err
		}

		if err := f.bury(ctx, s, l, known); err != nil {
			return err
		}
	}

	return nil
}

// parentless lets a shard begin whose parent is neither listed nor known: it was
// trimmed long ago. Until that is certain the listing may just be incomplete.
func (f *fleet) parentless(ctx context.Context, s Lease, l listing, known map[string]Lease) error {
	if s.Parent == "" || s.ParentDone || s.Finished() {
		return nil
	}

	if _, ok := known[s.Parent]; ok {
		return nil
	}

	if _, listed := l.shards[s.Parent]; listed {
		return nil
	}

	if at := born(s.Parent); !at.IsZero() && time.Since(at) < horizon {
		f.missing[s.Shard]++ // young: it must have been listed; still, never wait for ever
		if f.quick = true; f.missing[s.Shard] < 10*absences {
			return nil
		}
	} else if at.IsZero() {
		f.missing[s.Shard]++
		if f.quick = true; f.missing[s.Shard] < absences {
			return nil
		}
	}
	f.p.cfg.Log.Info("the shard's parent is gone; reading the shard", "shard", s.Shard, "parent", s.Parent)
	delete(f.missing, s.Shard)

	return f.table.orphan(ctx, s.Shard)
}

// bury deletes the lease of a shard that was finished long ago and that nothing
// refers to any more.
func (f *fleet) bury(ctx context.Context, s Lease, l listing, known map[string]Lease) error {
	if !s.Finished() || time.Since(s.FinishedAt) < tombstoneFor {
		return nil
	}

	if _, listed := l.shards[s.Shard]; listed {
		return nil
	}

	for _, other := range known {
		if other.Parent == s.Shard && !other.ParentDone {
			return nil
		}
	}

	return f.table.remove(ctx, s.Shard)
}

// finishGone ends the leases of a stream that does not exist any more, as far as
// nobody reads them: there is nothing left to read.
func (f *fleet) finishGone(ctx context.Context, known map[string]Lease) error {
	for _, s := range known {
		if s.Finished() || s.Owner != "" {
			continue
		}
		u := newChange(f.table.table, leaseKey(f.table.stream, s.Shard))
		u.equals(leaseCounter, avN(s.Counter))
		u.absent(leaseOwner)
		u.set(leaseFinished, avN(time.Now().UnixMilli()))

		if _, _, err := u.apply(ctx, f.table.api); err != nil {
			return err
		}
	}

	return nil
}
