package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// errStreamEnded ends a fleet when its stream was disabled and is handled to its
// end, or does not exist any more.
var errStreamEnded = errors.New("streams: stream ended")

// startTries is how often the beginning is tried, over some seconds.
const startTries = 5

// fleet is this worker's part in reading one stream: it watches the leases,
// takes what is due, hands over what is asked for, and keeps the list of shards
// up to date.
type fleet struct {
	p      *Poller
	stream *stream
	table  *leaseTable
	start  Position

	scan    time.Duration
	seen    map[string]*sighting // the watcher's own
	changed chan struct{}        // a shard ended or is new: look at once

	mu     sync.Mutex
	held   map[string]*shard
	mark   *marker   // as last seen, nil when there is none
	markAt time.Time // since when it has been so
	open   int       // unfinished leases, as last seen
	ended  bool      // the last listing said that nothing more will come

	missing map[string]int // the lister's own: listings without the shard's parent
	quick   bool           // the lister's own: something is unclear, list again soon
}

func (p *Poller) newFleet(arn string, start Position) *fleet {
	return &fleet{
		p: p, start: start,
		stream:  &stream{api: p.cfg.Streams, arn: arn},
		table:   &leaseTable{api: p.cfg.DynamoDB, table: p.cfg.LeaseTable, stream: arn},
		scan:    min(max(p.cfg.LeaseDuration/20, 10*time.Millisecond), time.Second),
		missing: map[string]int{}, held: map[string]*shard{}, changed: make(chan struct{}, 1),
	}
}

// run works until ctx ends (nil), the stream has ended (errStreamEnded) or a gap
// halts it.
func (f *fleet) run(ctx context.Context) error {
	for try := 1; ; try++ {
		err := f.bootstrap(ctx)
		if err == nil {
			break
		}

		if ctx.Err() != nil {
			return nil
		}

		if try >= startTries || errors.Is(err, errStreamEnded) || errors.Is(err, errView) {
			return err
		}
		f.p.cfg.fault("Leases", "", err)
		rest(ctx, faultPause<<try)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.watch(gctx, g) })
	g.Go(func() error { f.keepListing(gctx); return nil })

	return g.Wait()
}

// watch looks at the leases again and again.
func (f *fleet) watch(ctx context.Context, g *errgroup.Group) error {
	timer := time.NewTimer(0)
	defer timer.Stop()

	var log sparse
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-f.changed:
		}

		done, err := f.look(ctx, g)
		if done {
			return errStreamEnded
		}

		if err != nil && ctx.Err() == nil {
			f.p.cfg.fault("Leases", "", err)

			if log.due() {
				f.p.cfg.Log.Warn("looking after the leases failed; retrying", "stream", f.stream.arn, "err", err)
			}
		}
		timer.Reset(f.scan)
	}
}

// look reads the leases once and acts on them; it reports whether the stream has
// ended.
func (f *fleet) look(ctx context.Context, g *errgroup.Group) (ended bool, err error) {
	call, cancel := context.WithTimeout(ctx, max(f.p.cfg.LeaseDuration/2, time.Second))
	defer cancel()

	leases, mark, err := queryLeases(call, f.table.api, f.table.table, f.table.stream)
	if err != nil {
		return false, err
	}
	now := time.Now()
	f.seen = see(f.seen, leases, now)
	f.noteChildren()
	what := planner{me: f.p.cfg.Owner, lease: f.p.cfg.LeaseDuration, scan: f.scan, held: f.holds}.decide(f.seen, now)
	f.handOver(what.handOver)

	var errs []error
	for _, s := range what.unwant {
		errs = append(errs, f.table.unwant(call, s.Lease))
	}
	errs = append(errs, f.takeAll(ctx, call, g, what.take), f.askAll(call, what.want))

	return f.sum(mark, what.open, now), errors.Join(errs...)
}

// sum notes what was seen for the lister and reports whether all is over.
func (f *fleet) sum(mark *marker, open int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.markAt.IsZero() || (f.mark == nil) != (mark == nil) || (mark != nil && f.mark.turns != mark.turns) {
		f.markAt = now
	}
	f.mark, f.open = mark, open

	return f.ended && open == 0 && len(f.held) == 0
}

// nudge has the leases looked at now.
func (f *fleet) nudge() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// takeAll takes leases, several at a time, and starts their readers.
func (f *fleet) takeAll(ctx, call context.Context, g *errgroup.Group, due []*sighting) error {
	var takers errgroup.Group
	takers.SetLimit(8)

	for _, s := range due {
		takers.Go(func() error {
			at := time.Now()

			l, ok, err := f.table.take(call, s.Lease, f.p.cfg.Owner)
			if err != nil || !ok {
				return err
			}
			sh := f.p.newShard(ctx, f.stream, f.table, l, at)
			f.mu.Lock()
			f.held[l.Shard] = sh
			f.mu.Unlock()
			f.p.shardUp(sh)
			sh.report(LeaseTaken)
			g.Go(func() error { return f.work(sh) })

			return nil
		})
	}

	return takers.Wait()
}

// work runs one shard and has the leases looked at when it ends: the children
// may be due.
func (f *fleet) work(sh *shard) error {
	defer func() {
		f.mu.Lock()
		delete(f.held, sh.id)
		f.mu.Unlock()
		f.p.shardDown(sh)
		f.nudge()
	}()

	return sh.run()
}

func (f *fleet) askAll(ctx context.Context, wish []*sighting) error {
	for _, s := range wish {
		asked, err := f.table.want(ctx, s.Lease, f.p.cfg.Owner)
		if err != nil {
			return err
		}

		if hook := f.p.cfg.Events.Lease; asked && hook != nil {
			hook(LeaseEvent{Shard: s.Shard, Change: LeaseWanted, Epoch: s.Epoch})
		}
	}

	return nil
}

func (f *fleet) handOver(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, id := range ids {
		if sh := f.held[id]; sh != nil {
			sh.leave()
		}
	}
}

// holds reports whether the shard is held here.
func (f *fleet) holds(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held[id] != nil
}

// noteChildren tells the readers of shards that have children so.
func (f *fleet) noteChildren() {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, s := range f.seen {
		if sh := f.held[s.Parent]; sh != nil {
			sh.hasChild.Store(true)
		}
	}
}
