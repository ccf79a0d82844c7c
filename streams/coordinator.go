package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
)

const (
	// maxStarts is how often Run tries to begin a stream, over some seconds.
	maxStarts = 5
	// firstStartPause is the pause after the first failed start; it doubles.
	firstStartPause = 400 * time.Millisecond
	// parallelTakes is how many leases are taken at once.
	parallelTakes = 8
)

// coordinator is this worker's part in reading one stream. It watches the leases,
// takes those that are due, hands over those that others ask for, and runs a
// shardWorker for each one that it holds.
type coordinator struct {
	poller       *Poller
	cfg          *Config
	stream       *stream
	table        *leaseTable
	discovery    *discovery
	scanInterval time.Duration // between two reads of the leases

	observed map[string]*observedLease // used by watch only
	check    chan struct{}             // a value makes watch read the leases at once

	mu   sync.Mutex
	held map[string]*shardWorker
}

func (p *Poller) newCoordinator(arn string, start Position) *coordinator {
	// The last renewal of a crashed worker is noticed within one interval, which is why a
	// take-over needs up to LeaseDuration + 1 s.
	interval := min(max(p.cfg.LeaseDuration/10, 10*time.Millisecond), time.Second)

	c := &coordinator{
		poller:       p,
		cfg:          &p.cfg,
		stream:       &stream{api: p.cfg.Streams, tables: p.cfg.DynamoDB, arn: arn, confirmOver: p.cfg.confirmOver()},
		table:        &leaseTable{api: p.cfg.DynamoDB, table: p.cfg.LeaseTable, stream: GroupKey(p.cfg.Group, arn)},
		scanInterval: interval,
		check:        make(chan struct{}, 1),
		held:         map[string]*shardWorker{},
	}
	c.discovery = newDiscovery(c, start)

	return c
}

// run works until ctx ends (nil), the stream has ended (ErrStreamEnded), a gap halts
// it (*GapError), or it cannot begin.
func (c *coordinator) run(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return unlessStopped(ctx, err)
	}

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.watch(gctx, g) })
	g.Go(func() error {
		c.discovery.run(gctx)
		return nil
	})
	g.Go(func() error {
		groups := groupCount{cfg: c.cfg, stream: c.stream.arn}
		groups.run(gctx)

		return nil
	})

	return g.Wait()
}

// begin stores the state of the stream and its first leases. It tries a few times,
// except after errors that do not pass.
func (c *coordinator) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		err := c.discovery.bootstrap(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}

		var halt *GapError
		if errors.Is(err, ErrStreamEnded) || errors.Is(err, errViewType) || errors.As(err, &halt) {
			return err
		}
		c.poller.setHealth(err)
		c.cfg.Events.fault("Leases", "", err)

		// Whether the stream exists is found out in confirmOver, however long that is.
		if errors.Is(err, errUnconfirmed) {
			try = 0
			worker.Wait(ctx, c.cfg.confirmOver()/confirmingAnswers)

			continue
		}

		if try >= maxStarts {
			return err
		}
		worker.Wait(ctx, firstStartPause<<(try-1))
	}
}

// watch checks the leases every scanInterval and whenever checkSoon was called.
func (c *coordinator) watch(ctx context.Context, g *errgroup.Group) error {
	timer := time.NewTimer(0)
	defer timer.Stop()

	var log worker.LogThrottle
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-c.check:
		}

		ended, err := c.checkLeases(ctx, g)
		if ended {
			return ErrStreamEnded
		}
		c.poller.setHealth(err)

		if err != nil && ctx.Err() == nil {
			c.cfg.Events.fault("Leases", "", err)

			if log.Allow() {
				c.cfg.Log.Warn("looking after the leases failed; retrying", "stream", c.stream.arn, "err", err)
			}
		}
		timer.Reset(pauseUntilExpiry(c.observed, time.Now(), c.cfg.LeaseDuration, c.scanInterval))
	}
}

// checkSoon makes watch check the leases at once.
func (c *coordinator) checkSoon() {
	select {
	case c.check <- struct{}{}:
	default: // it will do so already
	}
}

// checkLeases reads the leases once and does what the planner decides. It reports
// whether the stream has been handled to its end.
func (c *coordinator) checkLeases(ctx context.Context, g *errgroup.Group) (ended bool, err error) {
	// A call that hangs must not keep this worker from watching the leases.
	call, cancel := context.WithTimeout(ctx, max(c.cfg.LeaseDuration/2, time.Second))
	defer cancel()

	leases, state, err := c.table.read(call)
	if err != nil {
		return false, err
	}

	now := time.Now()
	c.observed = observe(c.observed, leases, now)
	c.reportChildren()

	todo := planner{
		me:            c.cfg.Owner,
		leaseDuration: c.cfg.LeaseDuration,
		scanInterval:  c.scanInterval,
		holds:         c.holds,
	}.decide(c.observed, now)

	c.handOver(todo.handOver)

	// The steps are independent: one that fails does not keep the others from being
	// done, and all of them are decided again at the next check.
	var errs []error
	for _, lease := range todo.withdraw {
		errs = append(errs, c.table.withdrawRequest(call, lease.Lease))
	}
	errs = append(errs,
		c.takeLeases(ctx, call, g, todo.take),
		c.requestLeases(call, todo.request),
	)

	c.discovery.noteObservation(state, todo.open, now)

	return c.streamEnded(todo.open), errors.Join(errs...)
}

// streamEnded reports whether the stream is closed and nothing of it is left to read.
func (c *coordinator) streamEnded(openLeases int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.discovery.streamClosed() && openLeases == 0 && len(c.held) == 0
}

// takeLeases takes leases and starts the workers of their shards. The calls use
// call, the workers ctx.
func (c *coordinator) takeLeases(ctx, call context.Context, g *errgroup.Group, due []*observedLease) error {
	var takes errgroup.Group
	takes.SetLimit(parallelTakes)

	for _, lease := range due {
		takes.Go(func() error {
			// The lease counts from before the call: others may see the write before its
			// answer arrives here.
			takenAt := time.Now()

			l, ours, err := c.table.take(call, lease.Lease, c.cfg.Owner)
			if err != nil || !ours {
				return err
			}

			w := c.poller.newShardWorker(ctx, c.stream, c.table, l, takenAt)
			c.add(w)
			w.report(LeaseTaken)
			g.Go(func() error { return c.runWorker(w) })

			return nil
		})
	}

	return takes.Wait()
}

// runWorker runs the worker of one shard. When it ends, the shard's children may be
// due, so the leases are checked.
func (c *coordinator) runWorker(w *shardWorker) error {
	defer c.checkSoon()
	defer c.remove(w)

	return w.run()
}

func (c *coordinator) add(w *shardWorker) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.held[w.id] = w
	c.poller.addWorker(w)
}

func (c *coordinator) remove(w *shardWorker) {
	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.held, w.id)
	c.poller.removeWorker(w)
}

// holds reports whether this worker reads the shard.
func (c *coordinator) holds(shard string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.held[shard] != nil
}

// requestLeases asks the owners of the leases to hand them over.
func (c *coordinator) requestLeases(ctx context.Context, leases []*observedLease) error {
	for _, lease := range leases {
		stored, err := c.table.requestHandOver(ctx, lease.Lease, c.cfg.Owner)
		if err != nil {
			return err
		}

		if stored {
			c.cfg.Events.lease(LeaseEvent{Shard: lease.Shard, Change: LeaseRequested, Epoch: lease.Epoch})
		}
	}

	return nil
}

// handOver makes the workers of the shards stop reading, drain and release their
// leases. It does not wait for them.
func (c *coordinator) handOver(shards []string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, id := range shards {
		if w := c.held[id]; w != nil {
			w.stopReading()
		}
	}
}

// reportChildren tells the readers of shards that have children about it.
func (c *coordinator) reportChildren() {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, lease := range c.observed {
		if parent := c.held[lease.Parent]; parent != nil {
			parent.reader.childKnown.Store(true)
		}
	}
}
