package poller

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/shards"
	"ratchet/streams/store"
)

const (
	// maxStarts is how often run tries to begin a stream, over about six seconds.
	maxStarts = 5
	// firstStartPause is the pause after the first failed start; it doubles.
	firstStartPause = 400 * time.Millisecond
	// maxScanInterval is the longest time between two looks at the workers. A look costs one
	// read unit per 4 KB of their rows, about 100 bytes each.
	maxScanInterval = 900 * time.Millisecond
)

// coordinator is this worker's part in reading one stream. It watches the leases,
// takes the leases that are due, hands over the leases that others ask for, and runs a
// shards.Worker for each lease that it holds.
type coordinator struct {
	poller       *Poller
	cfg          *Config
	stream       *lineage.Stream
	table        *leases.Table
	discovery    *lineage.Discovery
	alive        *holders.Liveness
	scanInterval time.Duration // between two looks at the workers

	sight sight         // used by watch only
	check chan struct{} // a value makes watch read the leases at once
}

func (p *Poller) newCoordinator(arn string, start streams.Position) *coordinator {
	// The last heartbeat of a crashed worker is noticed within one interval, which is why a
	// take-over needs up to LeaseDuration + 1 s.
	interval := min(max(p.cfg.LeaseDuration/10, 10*time.Millisecond), maxScanInterval)

	table := &leases.Table{API: p.cfg.DynamoDB, Table: p.cfg.LeaseTable, Stream: store.GroupKey(p.cfg.Group, arn), Clock: p.cfg.clock, Duration: p.cfg.LeaseDuration}

	c := &coordinator{
		poller:       p,
		cfg:          &p.cfg,
		stream:       lineage.NewStream(p.cfg.lineage(), arn),
		table:        table,
		scanInterval: interval,
		sight:        sight{workers: holders.Workers{}},
		check:        make(chan struct{}, 1),
	}
	c.alive = holders.NewLiveness(table, p.cfg.Owner, func(err error) {
		p.cfg.Events.Fault("UpdateItem", "", err)
	})
	c.discovery = lineage.NewDiscovery(p.cfg.lineage(), c.stream, table, start, interval, c.checkSoon, c.alive.NoteChange)

	return c
}

// parts returns what the work on a shard shares with the rest of this worker.
func (c *coordinator) parts() shards.Parts {
	return shards.Parts{
		Cfg:        c.cfg.shards(),
		Stream:     c.stream,
		Discovery:  c.discovery,
		Table:      c.table,
		Scheduler:  c.poller.scheduler,
		Memory:     &c.poller.memory,
		PausesRead: c.poller.queues.PausesRead,
		NoteChange: c.alive.NoteChange,
	}
}

// run works until ctx ends and then returns nil. It returns ErrStreamEnded when the stream has
// ended, a *GapError for a gap under GapHalt, lineage.ErrRecreated when the stream must be begun again, and
// another error if the stream cannot be begun.
func (c *coordinator) run(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return unlessStopped(ctx, err)
	}

	stopBeating := c.beat(ctx)
	defer stopBeating()

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.watch(gctx, g) })
	g.Go(func() error { return c.discovery.Run(gctx) })
	g.Go(func() error {
		c.countGroups(gctx)
		return nil
	})

	return g.Wait()
}

// beat sends heartbeats until stop is called. Call stop after the last lease was given back: the
// leases of shards that drain need heartbeats.
func (c *coordinator) beat(ctx context.Context) (stop func()) {
	// The drain begins when ctx ends, and the leases are needed until the drain is over.
	beating, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.alive.Run(beating)
	}()
	stopped := context.AfterFunc(ctx, c.alive.Stop)

	return func() {
		// stopped comes first: a worker that leaves must not be marked as stopping afterwards.
		stopped()
		end()
		<-ended

		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.LeaseDuration)
		defer cancel()

		c.alive.Leave(leaving)
	}
}

// begin stores the state of the stream and its first leases. It tries a few times,
// except after errors that do not pass.
func (c *coordinator) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		err := c.discovery.Bootstrap(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}

		var halt *streams.GapError
		if errors.Is(err, streams.ErrStreamEnded) || errors.Is(err, lineage.ErrViewType) || errors.As(err, &halt) {
			return err
		}
		c.poller.setHealth(err)
		c.cfg.Events.Fault("Leases", "", err)

		// These tries do not count. They end, because confirmOver bounds the time until it is known
		// whether the stream exists.
		if errors.Is(err, lineage.ErrUnconfirmed) {
			try = 0
			worker.Wait(ctx, c.stream.ConfirmOver/lineage.ConfirmingAnswers)

			continue
		}

		if try >= maxStarts {
			return err
		}
		worker.Wait(ctx, firstStartPause<<(try-1))
	}
}

// streamEnded reports whether the stream is closed and has no records left to read.
func (c *coordinator) streamEnded(openLeases int) bool {
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()

	return c.discovery.StreamClosed() && openLeases == 0 && len(c.poller.held) == 0
}

// takeLeases takes leases and starts the workers of their shards. The calls to DynamoDB use the
// context call, the workers ctx.
func (c *coordinator) takeLeases(ctx, call context.Context, g *errgroup.Group, due []*holders.Observed) error {
	var takes errgroup.Group
	takes.SetLimit(lineage.ParallelWrites)

	for _, lease := range due {
		// Epochs grow from parent to child, so the child's epoch must be above the parent's newest
		// epoch.
		if parent := c.sight.leases[lease.Parent]; parent != nil {
			lease.ParentEpoch = parent.Epoch
		}

		takes.Go(func() error {
			// The time of the lease counts from before the call: another worker may see the write
			// before the answer arrives here.
			takenAt, life := time.Now(), c.alive.Current()
			if !c.alive.Valid(life, takenAt) {
				return nil // others would take it at once
			}

			l, ours, err := c.table.Take(call, lease.Lease, c.cfg.Owner)
			if err != nil || !ours {
				return err
			}

			w := shards.NewWorker(ctx, c.parts(), l, holders.HoldAlive(c.table, l, takenAt, c.alive, life))
			c.poller.add(w)
			w.Report(streams.LeaseTaken)
			// On g and not on takes: a shard's worker runs longer than this check, and run waits
			// for g.
			g.Go(func() error {
				defer c.checkSoon() // the shard's children may be due
				defer c.poller.remove(w)

				return w.Run()
			})

			return nil
		})
	}

	return takes.Wait()
}

// requestLeases asks the owners of the leases to hand them over.
func (c *coordinator) requestLeases(ctx context.Context, leases []*holders.Observed) error {
	if len(leases) == 0 {
		return nil
	}

	var requests errgroup.Group
	requests.SetLimit(lineage.ParallelWrites)

	for _, lease := range leases {
		requests.Go(func() error {
			stored, err := c.table.RequestHandOver(ctx, lease.Lease, c.cfg.Owner)
			if stored {
				c.cfg.Events.Lease(streams.LeaseEvent{Shard: lease.Shard, Change: streams.LeaseRequested, Epoch: lease.Epoch})
			}

			return err
		})
	}
	// Even a failed call may have stored the request, and the owner sees it only if it reads the leases.
	defer c.alive.NoteChange()

	return requests.Wait()
}

// handOver makes the workers of the shards stop reading, drain and release their
// leases. It does not wait for them.
func (c *coordinator) handOver(shards []string) {
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()

	for _, id := range shards {
		if w := c.poller.held[id]; w != nil {
			w.StopReading()
		}
	}
}
