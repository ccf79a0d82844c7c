package activities

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// Rates is a worker's share of the account's quotas, in calls per second. Step Functions counts each
// operation separately, over all clients of an account and Region. The quota is 500 a second with
// bursts of 3,000 in the largest Regions, and 300 with bursts of 1,500 in the others (developer guide,
// "Step Functions service quotas", API action throttling).
//
// 0 stands for 250 a second, which leaves a sixth of the smaller quota to other clients. Several
// workers have to share the quota. A negative rate means no limit, for an engine without quotas.
//
// Heartbeats are sent without bursts. A burst of the other calls may have the calls of five seconds at
// once. Calls that have to wait are sent in the order of their tasks' deadlines.
type Rates struct {
	GetActivityTask, SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat float64
}

// EachAt returns the same rate for every operation. A negative one is no limit.
func EachAt(perSecond float64) Rates {
	return Rates{GetActivityTask: perSecond, SendTaskSuccess: perSecond, SendTaskFailure: perSecond, SendTaskHeartbeat: perSecond}
}

const (
	defaultRate  = 250 // calls per second
	burstSeconds = 5   // as long as the service's own bursts last
)

// budget lets calls of one operation through at a steady rate. Callers that have to wait
// get their turns in the order of their deadlines. A turn allows one call. A caller that does not use
// its turn gives it back.
type budget struct {
	every time.Duration // between two calls; 0: no limit
	slack time.Duration // how far a burst may run ahead

	mu    sync.Mutex
	next  time.Time // when the next call is due at the steady rate
	queue turns
	timer *time.Timer // set while callers wait
}

// newBudget returns a budget of perSecond calls a second. A burst may have the calls of burst seconds
// at once.
func newBudget(perSecond, burst float64) *budget {
	if perSecond < 0 {
		return &budget{}
	}

	if perSecond == 0 {
		perSecond = defaultRate
	}

	return &budget{
		every: time.Duration(float64(time.Second) / perSecond),
		slack: time.Duration(burst * float64(time.Second)),
	}
}

// take waits for a turn. It returns the cause when ctx ends first.
func (b *budget) take(ctx context.Context, deadline time.Time) error {
	t := b.enqueue(deadline)
	if t == nil {
		return nil
	}

	return b.await(ctx, t)
}

// await waits for the turn that enqueue has promised.
func (b *budget) await(ctx context.Context, t *turn) error {
	select {
	case <-t.granted:
	case <-ctx.Done():
	}

	// If both channels were ready, select chose at random: a turn after the end of ctx must not count.
	if ctx.Err() == nil {
		return nil
	}
	b.giveBack(t)

	return context.Cause(ctx)
}

// ready waits until there is a turn, without taking it. It reports false when ctx ends
// first.
func (b *budget) ready(ctx context.Context) bool {
	for {
		wait := b.untilFree()
		if wait <= 0 {
			return ctx.Err() == nil
		}

		if !worker.Wait(ctx, wait) {
			return false
		}
	}
}

// untilFree returns the time until a new caller would get a turn, behind all that wait now.
func (b *budget) untilFree() time.Duration {
	if b.every == 0 {
		return 0
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	return b.wait(time.Now()) + time.Duration(len(b.queue))*b.every
}

// enqueue returns nil when the caller has its turn already.
func (b *budget) enqueue(deadline time.Time) *turn {
	if b.every == 0 {
		return nil
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	// A new caller does not overtake callers that wait, even if a call may be made now.
	if now := time.Now(); len(b.queue) == 0 && b.wait(now) <= 0 {
		b.use(now)
		return nil
	}

	t := &turn{deadline: deadline, granted: make(chan struct{})}
	heap.Push(&b.queue, t)

	if b.timer == nil {
		b.timer = time.AfterFunc(b.wait(time.Now()), b.dispatch)
	}

	return t
}

// giveBack ends the wait of a caller that does not need its turn any more.
func (b *budget) giveBack(t *turn) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if t.index >= 0 {
		heap.Remove(&b.queue, t.index)
		return
	}
	// The turn was granted and not used. The next call is due one turn earlier.
	b.next = b.next.Add(-b.every)

	if b.timer != nil {
		b.timer.Reset(max(0, b.wait(time.Now())))
	}
}

// dispatch gives turns to the waiting callers, the earliest deadline first.
func (b *budget) dispatch() {
	b.mu.Lock()
	defer b.mu.Unlock()

	now := time.Now()
	for len(b.queue) > 0 && b.wait(now) <= 0 {
		b.use(now)
		close(heap.Pop(&b.queue).(*turn).granted)
	}

	if len(b.queue) == 0 {
		b.timer = nil
		return
	}
	b.timer.Reset(b.wait(now))
}

// wait returns how long until a call may be made.
func (b *budget) wait(now time.Time) time.Duration { return b.next.Add(-b.slack).Sub(now) }

// use takes a turn.
func (b *budget) use(now time.Time) {
	// Time without calls saves no turns beyond the burst.
	if b.next.Before(now) {
		b.next = now
	}
	b.next = b.next.Add(b.every)
}

// turn is the place of a caller that waits.
type turn struct {
	deadline time.Time
	granted  chan struct{} // closed when the turn has come
	index    int           // in the heap; -1 when the turn has come
}

// turns is a heap, the earliest deadline first.
type turns []*turn

func (q turns) Len() int           { return len(q) }
func (q turns) Less(i, j int) bool { return q[i].deadline.Before(q[j].deadline) }

func (q turns) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is part of heap.Interface.
func (q *turns) Push(x any) {
	t := x.(*turn)
	t.index = len(*q)
	*q = append(*q, t)
}

// Pop is part of heap.Interface.
func (q *turns) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	t.index = -1

	return t
}
