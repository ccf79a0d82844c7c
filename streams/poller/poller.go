package poller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/lanes"
	"ratchet/streams/redelivery"
	"ratchet/streams/shards"
)

// Poller reads a stream and hands its records to handlers, together with the other
// workers that use the same lease table. Create it with New and run it once.
type Poller struct {
	cfg       Config
	scheduler *lanes.Scheduler
	queues    *redelivery.Queues
	memory    lanes.Memory

	log    worker.LogThrottle
	mu     sync.Mutex
	held   map[string]*shards.Worker // by shard, of the stream that is being read
	health error
}

// errNotStarted is the health of a poller before Run.
var errNotStarted = errors.New("streams: poller has not started")

// New returns a poller that is ready to run. It reports every fault of cfg.
func New(cfg Config) (*Poller, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	p := &Poller{
		cfg:    cfg.withDefaults(),
		held:   map[string]*shards.Worker{},
		health: errNotStarted,
	}
	p.memory.Limit = p.cfg.maxPendingBytes
	p.scheduler, p.queues = p.cfg.newScheduler()

	return p, nil
}

// Owner returns the worker's name in leases, with its random suffix.
func (p *Poller) Owner() string { return p.cfg.Owner }

// Run polls until ctx ends. Then it begins no more records and waits for the running handlers;
// after Config.DrainTimeout it cancels their contexts. It stores the checkpoints, releases its
// leases and returns nil.
//
// Otherwise it returns an error in three cases: it cannot start (no such table, no
// stream on it, no lease table); records were not read and cannot be read any more, and
// OnGap is GapHalt (*GapError); the stream named by Config.StreamARN has ended
// (ErrStreamEnded). Every other fault is reported to Config.Events and Config.Log and
// tried again; see also Health.
func (p *Poller) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)

	// done ends with the last reader, which may be before gctx ends: hints and queues end with it.
	done, finish := context.WithCancel(gctx)

	g.Go(func() error {
		p.forwardHints(done)
		return nil
	})
	// On done and not on gctx: the queues end when the stream has been read to its end.
	g.Go(func() error { return p.queues.Run(done) })
	g.Go(func() error {
		defer finish()

		if p.cfg.StreamARN == "" {
			return p.followTable(gctx)
		}

		err := p.readStream(gctx, p.cfg.StreamARN, p.cfg.Start)
		// The stream has ended only when none of its records waits in the retry queue.
		if errors.Is(err, streams.ErrStreamEnded) && !p.queues.WaitUntilEmpty(gctx) {
			return nil
		}

		return err
	})

	err := g.Wait()

	// No lane runs any more, but goroutines of lanes may not have returned yet.
	p.scheduler.Goroutines.Wait()

	return err
}

// forwardHints passes each hint on to all readers until ctx ends.
func (p *Poller) forwardHints(ctx context.Context) {
	hint := p.cfg.Hint
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-hint:
			if !open {
				hint = nil // blocks without end, unlike a closed channel
				continue
			}
		}

		p.mu.Lock()
		for _, w := range p.held {
			w.Wake()
		}
		p.mu.Unlock()
	}
}

func (p *Poller) add(w *shards.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.held[w.ID] = w
}

func (p *Poller) remove(w *shards.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.held, w.ID)
}

// holds reports whether this worker reads the shard.
func (p *Poller) holds(shard string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.held[shard] != nil
}

// Health returns nil while the poller takes part in reading a stream, and otherwise the reason why
// it does not: it has not started, it cannot read the leases, or all streams of the table are
// handled to their ends (ErrNoStream). A worker that holds no shard, because others hold all
// shards, is healthy.
func (p *Poller) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.health
}

func (p *Poller) setHealth(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.health = err
}

// Waits returns how long the oldest record has waited, of those that were read and wait until one of the handlers has a
// place for them. Calls that run do not count, and neither do records that pause until their next attempt or wait in
// the retry queue. So it says how much more records arrive than this worker can handle. ±1 s, because the service
// floors creation times to the second.
func (p *Poller) Waits(handlers []streams.Handler) time.Duration {
	longest := time.Duration(0)

	for i := range p.cfg.Handlers {
		if slices.ContainsFunc(handlers, func(h streams.Handler) bool { return h.Name == p.cfg.Handlers[i].Name }) {
			longest = max(longest, p.scheduler.Waits(i))
		}
	}

	return longest
}

// Lags returns how far each shard that is held at the moment is behind.
func (p *Poller) Lags() []streams.Lag {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	lags := make([]streams.Lag, 0, len(p.held))
	for _, w := range p.held {
		lags = append(lags, w.Reader.Lag(now))
	}

	return lags
}
