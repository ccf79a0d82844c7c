package redelivery

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

const (
	// maxQueuedItems bounds the items of one handler's queue that a worker has in memory, about 100
	// bytes each. Further rows are found by a later read, when there is room.
	maxQueuedItems = 100_000

	// The pause between two reads of a queue is passesPerIdle times PollIdle, and passPerRow more
	// for each row: reading a long queue takes time.
	passesPerIdle = 3
	passPerRow    = 10 * time.Millisecond

	// passesPerKey is how many reads of an empty queue come to one of a key other than the first.
	passesPerKey = 10
)

// Queue delivers the waiting records of one handler while this worker holds the
// handler's lease. The steps run in the lanes of the scheduler, like the steps of the
// shards.
type Queue struct {
	holders.Work

	lanes   *lanes.Shard
	queues  *Queues
	handler int
	h       *streams.Handler
	wake    chan struct{}
	stale   atomic.Bool // rows were added by another process
	faults  worker.LogThrottle

	suspect atomic.Bool // see leases.SuspectAfter

	// empty says that the newest read of all keys has found no row; passes counts the reads since. Used by
	// refresh only.
	empty  bool
	passes int

	// inherits says that rows may be found that were there when the lease was taken; used by refresh only.
	inherits bool

	mu      sync.Mutex
	items   map[store.ItemHash]*queuedItem
	byDue   dueItems // a heap of the items without a running step
	running int
}

// queuedItem is an item whose records wait.
type queuedItem struct {
	queue *Queue
	hash  store.ItemHash
	due   time.Time
	waits int  // calls that ended in NotYet
	noted bool // a row was added since the item's step began; guarded by Queue.mu
	// judged is the token of the newest row that was judged. inherited says that the item had rows when
	// the lease was taken: a former holder may still write to them, so each gets this holder's epoch first.
	judged    string
	inherited bool
	// notBefore is the earliest time of a delivery, if another process has put the item into the
	// queue: every worker knows by then that the item waits.
	notBefore time.Time
}

func newRetryQueue(ctx context.Context, queues *Queues, l leases.Lease, takenAt time.Time) *Queue {
	handler := slices.IndexFunc(queues.cfg.Handlers, func(h streams.Handler) bool { return h.Name == l.Shard })

	q := &Queue{
		Work: holders.Work{
			Name:  l.Shard,
			Lease: holders.Hold(queues.leases, l, takenAt, queues.leases.Duration),
			Fault: queues.cfg.Events.Fault,
			Log:   queues.cfg.Log,
			Every: queues.leases.Duration / 10,
		},
		queues:  queues,
		handler: handler,
		h:       &queues.cfg.Handlers[handler],
		wake:    make(chan struct{}, 1),
		items:   map[store.ItemHash]*queuedItem{},

		inherits: true,
	}
	q.Look, q.Due, q.Progress = q.check, q.renewalDue, q.toStore
	q.Begin(ctx)
	q.lanes = queues.scheduler.NewShard(q.Running, q.Lease, nil)
	q.Drain = func(cancel context.CancelCauseFunc) { q.lanes.Drain(queues.cfg.DrainTimeout, cancel) }

	if l.IsSuspect() {
		q.suspect.Store(true)
		queues.cfg.Log.Warn("the workers of a retry queue have ended several times; which of its records are tried is stored",
			"handler", q.h.Name, "times", l.Deaths)
	}

	return q
}

// run delivers waiting records until ctx of newRetryQueue ends or the lease is lost.
func (q *Queue) run() {
	read := func(ctx context.Context) error {
		q.deliver(ctx)
		return nil
	}
	_, _ = q.Work.Run(read, func(error) leases.Progress { return leases.Progress{Release: true} })
}

// settled reports whether every record of the queue was due by now and its call has ended no process
// (see lanes.SuspectQueueFor).
func (q *Queue) settled(now time.Time) bool {
	return now.Sub(q.Lease.TakenAt()) > q.h.Retry.Max+lanes.SuspectQueueFor
}

// check ends the suspicion in time.
func (q *Queue) check(now time.Time) {
	if q.settled(now) {
		q.suspect.Store(false)
	}
}

// toStore returns what a renewal stores.
func (q *Queue) toStore() leases.Progress {
	return leases.Progress{ForgetDeaths: q.settled(time.Now())}
}

// renewalDue reports whether the lease is to be renewed: no heartbeat does that.
func (q *Queue) renewalDue(_ leases.Progress, now time.Time) bool {
	return now.Sub(q.Lease.RenewedAt()) >= q.Lease.Own.Duration/3
}

// deliver starts the items that are due, until ctx ends.
func (q *Queue) deliver(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()

	var nextPass time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-q.wake:
		}

		if now := time.Now(); q.stale.Load() || !now.Before(nextPass) {
			q.refresh(ctx)
			// The pause counts from the end of the read, which takes a while for a long queue.
			nextPass = time.Now().Add(q.passPause())
		}
		timer.Reset(min(time.Until(nextPass), q.start(time.Now())))
	}
}

// refresh adds the rows that are not known yet.
func (q *Queue) refresh(ctx context.Context) {
	rows, err := q.read(ctx)
	if err != nil {
		q.noteFault(ctx, "Query", err)
		return
	}

	for _, row := range rows {
		row.Holder = q.Lease.Epoch.Load()
		if err := q.queues.table.KeepEnd(ctx, q.h.Name, row); err != nil {
			q.noteFault(ctx, "UpdateItem", err)
			break
		}
	}

	// The first row of an item says what is due.
	rows = slices.CompactFunc(rows, func(a, b retryqueue.Row) bool { return a.Hash == b.Hash })
	waiting := q.queues.scheduler.Waiting

	again, missed := false, false
	for _, row := range rows {
		// From now on newer records of the item wait, too.
		if known := (lanes.Item{Handler: q.handler, Hash: row.Hash}); !waiting.Has(known) {
			waiting.Add(known)
		}

		if q.knows(row.Hash) {
			continue
		}

		if row.Again {
			again = true
		} else {
			missed = !q.addItem(q.found(row, time.Time{})) || missed
		}
	}

	if again && !q.addAgain(ctx, rows) {
		missed = true
	}
	q.inherits = q.inherits && missed
}

// read returns the rows of the queue. While it is empty, a pass reads one of its keys, so that a queue with several
// keys costs no more than one with a single key: the first one, under which rows come first, nine times of ten.
func (q *Queue) read(ctx context.Context) (rows []retryqueue.Row, err error) {
	table, keys := q.queues.table, q.queues.table.Keys(q.h.Name)

	if stale := q.stale.Swap(false); q.empty && keys > 1 && !stale {
		q.passes++
		key := 0

		if n := q.passes / passesPerKey; q.passes%passesPerKey == 0 {
			key = 1 + n%(keys-1)
		}

		rows, err = table.ListUnder(ctx, q.h.Name, key)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
	}

	rows, err = table.List(ctx, q.h.Name)
	q.empty = err == nil && len(rows) == 0

	return rows, err
}

// found returns the item of a row that was found by reading the queue.
func (q *Queue) found(row retryqueue.Row, notBefore time.Time) *queuedItem {
	return &queuedItem{queue: q, hash: row.Hash, due: row.NextTry, notBefore: notBefore, inherited: q.inherits}
}

// addAgain adds the items of which records are delivered again. Every worker must know before that they
// wait. The process that has added them may have ended before it called retryqueue.NoteAddition.
func (q *Queue) addAgain(ctx context.Context, rows []retryqueue.Row) (all bool) {
	if err := retryqueue.NoteAddition(ctx, q.queues.leases); err != nil {
		q.noteFault(ctx, "UpdateItem", err)
		return false
	}
	all = true

	settled := time.Now().Add(q.queues.knownAfter())
	for _, row := range rows {
		if row.Again && !q.knows(row.Hash) {
			all = q.addItem(q.found(row, settled)) && all
		}
	}

	return all
}

func (q *Queue) knows(hash store.ItemHash) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.items[hash] != nil
}

func (q *Queue) passPause() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()

	return passesPerIdle*q.queues.cfg.PollIdle + time.Duration(len(q.items))*passPerRow
}

func (q *Queue) noteFault(ctx context.Context, op string, err error) {
	if ctx.Err() != nil {
		return
	}
	q.queues.cfg.Events.Fault(op, "", err)

	if q.faults.Allow() {
		q.queues.cfg.Log.Warn("working on the retry queue failed; retrying", "handler", q.h.Name, "err", err)
	}
}

// addItem adds an item with a row. It reports false if there is no room. If the item is known, only the step
// that runs must look once more.
func (q *Queue) addItem(item *queuedItem) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	if known := q.items[item.hash]; known != nil {
		known.noted = true
		return true
	}

	if len(q.items) >= maxQueuedItems {
		return false
	}

	if item.due.Before(item.notBefore) {
		item.due = item.notBefore
	}

	q.items[item.hash] = item
	heap.Push(&q.byDue, item)

	return true
}

// start hands the items that are due to the lanes. It returns the time until the next item is due.
// While the handler's circuit is open, one item at a time is the probe, even if it is not due.
func (q *Queue) start(now time.Time) time.Duration {
	circuit := q.queues.scheduler.Circuits[q.handler]

	q.mu.Lock()
	defer q.mu.Unlock()

	for {
		open, limit := circuit.Open(), q.h.Concurrency
		if open {
			limit = 1
		}

		switch {
		case len(q.byDue) == 0 || q.running >= limit || q.queues.scheduler.Paused[q.handler].Load():
			return time.Hour // note, again, forget and tryAll wake the queue
		case open && circuit.Wait(now) > 0:
			return circuit.Wait(now)
		// Not even a probe comes before notBefore: until then a worker may still deliver a newer
		// record of the item.
		case q.byDue[0].notBefore.After(now):
			return q.byDue[0].notBefore.Sub(now)
		case !open && q.byDue[0].due.After(now):
			return q.byDue[0].due.Sub(now)
		}

		item, _ := heap.Pop(&q.byDue).(*queuedItem)
		item.noted = false
		q.running++
		q.lanes.StartQueued(q.handler, string(item.hash[:]), item.Run)
	}
}

// again makes the item due at the given time.
func (q *Queue) again(item *queuedItem, due time.Time) {
	q.mu.Lock()
	item.due = due
	heap.Push(&q.byDue, item)
	q.running--
	q.mu.Unlock()

	q.wakeUp()
}

// forget removes an item without a row, unless one was added since its step began.
func (q *Queue) forget(item *queuedItem) {
	q.mu.Lock()
	noted := item.noted

	if !noted {
		delete(q.items, item.hash)
		q.running--
	}
	q.mu.Unlock()

	if noted {
		q.again(item, time.Now())
		return
	}

	q.wakeUp()
}

// tryAll makes all items due.
func (q *Queue) tryAll() {
	q.mu.Lock()

	now := time.Now()
	for _, item := range q.byDue {
		if item.due = now; item.notBefore.After(now) {
			item.due = item.notBefore
		}
	}
	heap.Init(&q.byDue)
	q.mu.Unlock()

	q.wakeUp()
}

func (q *Queue) wakeUp() {
	worker.Nudge(q.wake)
}

// dueItems is a heap of items, ordered by when they are due.
type dueItems []*queuedItem

func (d dueItems) Len() int           { return len(d) }
func (d dueItems) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d dueItems) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *dueItems) Push(x any)        { *d = append(*d, x.(*queuedItem)) }

func (d *dueItems) Pop() any {
	old := *d
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]

	return last
}
