package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// retryQueues runs the retry queues of this worker's handlers. For each handler there
// is a lease, so that one worker at a time delivers the handler's waiting records. These
// leases follow the same rules as the leases of shards.
type retryQueues struct {
	cfg       *Config
	table     *retryTable
	leases    *leaseTable
	scheduler *laneScheduler
	// leaseDuration is the duration of the handlers' leases, interval the time between two looks at
	// them.
	leaseDuration, interval time.Duration

	observed  map[string]*observedLease // used by run only
	additions int64                     // how many are known here; used by run only
	log       worker.LogThrottle

	mu   sync.Mutex
	held map[string]*retryQueue // by handler

	halt context.CancelCauseFunc // ends run with a *GapError; set by run

	readPauses sync.Once
	pausesRead chan struct{} // closed when it is known which handlers are paused, and when marks were moved
}

// maxRetryScan is the longest time between two looks at the leases. A look costs one
// read unit.
const maxRetryScan = 5 * time.Second

// retryLeases is how many times as long the lease of a handler's queue lasts as the lease of a shard.
// Waiting records are in no hurry, and every lease costs a write each time it is renewed.
const retryLeases = 5

func newRetryQueues(cfg *Config, table *retryTable, scheduler *laneScheduler) *retryQueues {
	return &retryQueues{
		cfg:           cfg,
		table:         table,
		leases:        &leaseTable{api: cfg.DynamoDB, table: cfg.LeaseTable, stream: retrySourcePrefix + table.scope, clock: cfg.clock},
		scheduler:     scheduler,
		leaseDuration: retryLeases * cfg.LeaseDuration,
		interval:      min(max(cfg.LeaseDuration/3, 10*time.Millisecond), maxRetryScan),
		held:          map[string]*retryQueue{},
		pausesRead:    make(chan struct{}),
	}
}

// run works until ctx ends, and then drains. It returns an error only for a gap under GapHalt.
func (q *retryQueues) run(ctx context.Context) error {
	ctx, q.halt = context.WithCancelCause(ctx)
	defer q.halt(nil)

	var queues sync.WaitGroup
	defer queues.Wait()

	for {
		if err := q.checkLeases(ctx, &queues); err != nil && ctx.Err() == nil {
			q.cfg.Events.fault("Leases", "", err)

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
	var gap *GapError
	if errors.As(context.Cause(ctx), &gap) {
		return gap
	}

	return nil
}

// checkLeases takes the leases that are due to this worker and starts their queues.
func (q *retryQueues) checkLeases(ctx context.Context, queues *sync.WaitGroup) error {
	call, cancel := context.WithTimeout(ctx, max(q.cfg.LeaseDuration/2, time.Second))
	defer cancel()

	leases, additions, err := q.readLeases(call)
	if err != nil {
		return err
	}

	// Before any lease is taken: a queue must not deliver while this worker overtakes its items.
	if err := q.learnAdditions(call, additions); err != nil {
		return err
	}

	now := time.Now()
	q.observed = observe(q.observed, leases, now)

	// Only take is used: leases of handlers are not moved between workers that live.
	due := planner{
		me:            q.cfg.Owner,
		leaseDuration: q.leaseDuration,
		scanInterval:  q.interval,
		holds:         func(handler string) bool { return q.queue(handler) != nil },
	}.decide(q.observed, now).take

	for _, lease := range due {
		takenAt := time.Now()

		l, ours, err := q.leases.take(call, lease.Lease, q.cfg.Owner)
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

// learnAdditions makes sure that this worker knows the items that another process has put
// into the queues: their later records wait behind them, and their first ones are
// delivered. count is the number of additions so far.
func (q *retryQueues) learnAdditions(ctx context.Context, count int64) error {
	if count == q.additions {
		return nil
	}

	if err := q.scheduler.waiting.load(ctx); err != nil {
		return err
	}
	// Only after the load has succeeded, so that a failed load is repeated at the next look.
	q.additions = count

	q.mu.Lock()
	defer q.mu.Unlock()

	for _, queue := range q.held {
		queue.readAgain()
	}

	return nil
}

// knownAfter is how long an item that was put into the queue by another process waits until it
// is delivered: until every worker knows that the item waits.
func (q *retryQueues) knownAfter() time.Duration { return 2 * q.interval }

// readLeases returns the leases of this worker's handlers, and how often records were put
// into the queues by other processes. It stores the leases that are missing.
func (q *retryQueues) readLeases(ctx context.Context) (_ []Lease, additions int64, err error) {
	all, _, err := q.leases.read(ctx)
	if err != nil {
		return nil, 0, err
	}

	stored := leasesByShard(all)

	var out []Lease
	for i, h := range q.cfg.Handlers {
		l, ok := stored[h.Name]
		if !ok {
			// A worker that holds the lease although its row is gone stores it again itself.
			l = Lease{Shard: h.Name, Epoch: firstEpoch(q.cfg.clock, 0)}
			if _, err := q.leases.insert(ctx, l); err != nil {
				return nil, 0, err
			}
		}
		q.scheduler.setPaused(i, !l.pausedAt.IsZero())
		out = append(out, l)
	}
	q.scheduler.markedAt.Store(unixMilli(stored[additionsRow].markedAt))
	q.readPauses.Do(func() { close(q.pausesRead) })

	return out, stored[additionsRow].Counter, nil
}

func (q *retryQueues) queue(handler string) *retryQueue {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.held[handler]
}

func (q *retryQueues) set(handler string, queue *retryQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if queue == nil {
		delete(q.held, handler)
	} else {
		q.held[handler] = queue
	}
}

// note adds a row that was created to the handler's queue, if this worker holds the queue.
func (q *retryQueues) note(item waitingItem, due time.Time) {
	if queue := q.queue(q.cfg.Handlers[item.handler].Name); queue != nil {
		queue.add(item.hash, due, time.Time{})
		queue.wakeUp()
	}
}

// tryAll makes all rows of the handler due that are known here.
func (q *retryQueues) tryAll(handler int) {
	if queue := q.queue(q.cfg.Handlers[handler].Name); queue != nil {
		queue.tryAll()
	}
}

// waitUntilEmpty waits until no record of this worker's handlers waits. It reports
// false when ctx ends first.
func (q *retryQueues) waitUntilEmpty(ctx context.Context) bool {
	for {
		waiting := 0
		for _, h := range q.cfg.Handlers {
			rows, err := q.table.list(ctx, h.Name)
			if err != nil {
				q.cfg.Events.fault("Query", "", err)
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
