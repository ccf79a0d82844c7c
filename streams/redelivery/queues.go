package redelivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
)

// Queues runs the retry queues of this worker's handlers. For each handler there
// is a lease, so that one worker at a time delivers the handler's waiting records. These
// leases follow the same rules as the leases of shards.
type Queues struct {
	cfg       *Config
	table     *retryqueue.Table
	leases    *leases.Table
	scheduler *lanes.Scheduler
	// interval is the time between two looks at the leases.
	interval time.Duration

	observed  map[string]*holders.Observed // used by run only
	additions int64                        // the newest number of additions that this worker has loaded; used by run only
	log       worker.LogThrottle

	Mu   sync.Mutex
	Held map[string]*Queue // by handler

	halt context.CancelCauseFunc // ends run with a *GapError; set by run

	readPauses sync.Once
	PausesRead chan struct{} // closed when this worker has read which handlers are paused and when marks last moved
}

// maxRetryScan is the longest time between two looks at the leases. A look costs one
// read unit.
const maxRetryScan = 5 * time.Second

// The lease of a handler's queue lasts retryLeases times as long as the lease of a shard: each
// renewal costs a write, and waiting records are not urgent.
const retryLeases = 5

// Config says how the retry queues are delivered. All fields but StreamARN must be set.
type Config struct {
	*lanes.Config // of the scheduler
	StreamARN     string
	LeaseTable    string
	OnGap         streams.GapPolicy
	PollIdle      time.Duration
	LeaseDuration time.Duration // of the leases of shards
	Ended         func(owner string) bool
	DrainTimeout  time.Duration
}

// NewQueues returns the queues of the scheduler's handlers, which use the same table.
func NewQueues(cfg *Config, scheduler *lanes.Scheduler) *Queues {
	table := cfg.Retries

	q := &Queues{
		cfg:        cfg,
		table:      table,
		leases:     &leases.Table{API: table.API, Table: cfg.LeaseTable, Stream: retryqueue.SourcePrefix + table.Scope, Clock: cfg.Clock, Duration: retryLeases * cfg.LeaseDuration},
		scheduler:  scheduler,
		interval:   min(max(cfg.LeaseDuration/3, 10*time.Millisecond), maxRetryScan),
		Held:       map[string]*Queue{},
		PausesRead: make(chan struct{}),
	}
	scheduler.SetQueues(q)

	return q
}

// Run works until ctx ends, and then drains. It returns an error only for a gap under GapHalt.
func (q *Queues) Run(ctx context.Context) error {
	ctx, q.halt = context.WithCancelCause(ctx)
	defer q.halt(nil)

	var queues sync.WaitGroup
	defer queues.Wait()

	for {
		if err := q.checkLeases(ctx, &queues); err != nil && ctx.Err() == nil {
			q.cfg.Events.Fault("Leases", "", err)

			if q.log.Allow() {
				q.cfg.Log.Warn("looking after the retry queues failed; retrying", "err", err)
			}
		}

		if !worker.Wait(ctx, q.interval) {
			return haltedBy(ctx)
		}
	}
}

// haltedBy returns the gap that ended ctx, nil if it was something else.
func haltedBy(ctx context.Context) error {
	var gap *streams.GapError
	if errors.As(context.Cause(ctx), &gap) {
		return gap
	}

	return nil
}

// checkLeases takes the leases that are due to this worker and starts their queues.
func (q *Queues) checkLeases(ctx context.Context, queues *sync.WaitGroup) error {
	call, cancel := context.WithTimeout(ctx, max(q.cfg.LeaseDuration/2, time.Second))
	defer cancel()

	stored, additions, err := q.readLeases(call)
	if err != nil {
		return err
	}

	// Before any lease is taken: when a queue delivers an item, this worker must not deliver newer
	// records of the item from a shard.
	if err := q.learnAdditions(call, additions); err != nil {
		return err
	}

	now := time.Now()
	q.observed = holders.Observe(q.observed, stored, now, q.leases.Duration)

	// Only the plan's take is used: a live worker keeps the leases of its queues.
	due := holders.Planner{
		Me:           q.cfg.Owner,
		Ended:        q.cfg.Ended,
		ScanInterval: q.interval,
		Holds:        func(handler string) bool { return q.Queue(handler) != nil },
	}.Decide(q.observed, now).Take

	for _, lease := range due {
		takenAt := time.Now()

		l, ours, err := q.leases.Take(call, lease.Lease, q.cfg.Owner)
		if err != nil {
			return err
		}

		if !ours || ctx.Err() != nil {
			continue
		}

		queue := newRetryQueue(ctx, q, l, takenAt)
		q.set(l.Shard, queue)
		queues.Go(func() {
			defer q.set(l.Shard, nil)
			queue.run()
		})
	}

	return nil
}

// learnAdditions makes sure that this worker knows the items that other processes have put into the
// queues, so that newer records of these items wait and the queues that it holds deliver them.
// count is the stored number of additions.
func (q *Queues) learnAdditions(ctx context.Context, count int64) error {
	if count == q.additions {
		return nil
	}

	if err := q.scheduler.Waiting.Load(ctx); err != nil {
		return err
	}
	// Only after the load has succeeded, so that a failed load is repeated at the next look.
	q.additions = count

	q.Mu.Lock()
	defer q.Mu.Unlock()

	for _, queue := range q.Held {
		queue.stale.Store(true)
		queue.wakeUp()
	}

	return nil
}

// knownAfter is the time after which every worker knows of an item that another process has put
// into a queue. The item is not delivered before.
func (q *Queues) knownAfter() time.Duration { return 2 * q.interval }

// readLeases returns the leases of this worker's handlers, and how often records were put
// into the queues by other processes. It stores the leases that are missing.
func (q *Queues) readLeases(ctx context.Context) (_ []leases.Lease, additions int64, err error) {
	all, _, err := q.leases.Read(ctx)
	if err != nil {
		return nil, 0, err
	}

	stored := leases.ByShard(all)

	var out []leases.Lease
	for i, h := range q.cfg.Handlers {
		l, ok := stored[h.Name]
		if !ok {
			// The holder of a lease whose row was deleted may store the row first. Then insert
			// changes nothing, and take fails because its conditions do not match the row.
			l = leases.Lease{Shard: h.Name, Epoch: leases.FirstEpoch(q.cfg.Clock, 0)}
			if _, err := q.leases.Insert(ctx, l); err != nil {
				return nil, 0, err
			}
		}
		q.scheduler.SetPaused(i, !l.PausedAt.IsZero())
		out = append(out, l)
	}
	q.scheduler.MarkedAt.Store(lanes.UnixMilli(stored[retryqueue.AdditionsRow].MarkedAt))
	q.readPauses.Do(func() { close(q.PausesRead) })

	return out, stored[retryqueue.AdditionsRow].Counter, nil
}

// Queue returns the queue of a handler.
func (q *Queues) Queue(handler string) *Queue {
	q.Mu.Lock()
	defer q.Mu.Unlock()

	return q.Held[handler]
}

func (q *Queues) set(handler string, queue *Queue) {
	q.Mu.Lock()
	defer q.Mu.Unlock()

	if queue == nil {
		delete(q.Held, handler)
	} else {
		q.Held[handler] = queue
	}
}

// Note adds a new row to the handler's queue, if this worker holds the queue.
func (q *Queues) Note(item lanes.Item, due time.Time) {
	if queue := q.Queue(q.cfg.Handlers[item.Handler].Name); queue != nil {
		queue.addItem(&queuedItem{queue: queue, hash: item.Hash, due: due})
		queue.wakeUp()
	}
}

// TryAll makes all items of the handler's queue due, if this worker holds the queue.
func (q *Queues) TryAll(handler int) {
	if queue := q.Queue(q.cfg.Handlers[handler].Name); queue != nil {
		queue.tryAll()
	}
}

// WaitUntilEmpty waits until no record of this worker's handlers waits. It reports
// false when ctx ends first.
func (q *Queues) WaitUntilEmpty(ctx context.Context) bool {
	for {
		waiting := 0
		for _, h := range q.cfg.Handlers {
			rows, err := q.table.List(ctx, h.Name)
			if err != nil {
				q.cfg.Events.Fault("Query", "", err)
				// An unreadable queue counts as not empty.
				waiting++
			}
			waiting += len(rows)
		}

		if waiting == 0 {
			return true
		}

		if !worker.Wait(ctx, q.cfg.PollIdle) {
			return false
		}
	}
}
