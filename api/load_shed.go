package api

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxQueueWait is how long a request waits for a slot.
const maxQueueWait = time.Second

// loadShedder limits how many requests do something at once, in total and for each caller. A
// bounded number of further requests wait; the rest are refused before any work is done for them.
// No caller and no tenant can take all slots or all places in the queue, unless there is only one caller.
type loadShedder struct {
	slots, queue limit

	mu      sync.Mutex
	busy    usage
	waiting usage
	waiters []*waiter // the longest waiting one first
}

// limit bounds a number in total, for each caller, and for all callers of each tenant.
type limit struct{ total, each, tenant int }

// share returns the limit by which one caller gets three quarters of the total at most, and one tenant seven
// eighths.
func share(total int) limit { return limit{total, total - total/4, total - total/8} }

// party is who does something: a caller, or a network for those who are not known. Only callers have a tenant.
type party struct{ caller, tenant string }

// usage is the number that a limit bounds.
type usage struct {
	total   int
	each    map[string]int
	tenants map[string]int
}

func newUsage() usage { return usage{each: map[string]int{}, tenants: map[string]int{}} }

func (u *usage) fits(p party, l limit) bool {
	return u.total < l.total && u.each[p.caller] < l.each && (p.tenant == "" || u.tenants[p.tenant] < l.tenant)
}

func (u *usage) add(p party) {
	u.total++
	u.each[p.caller]++

	if p.tenant != "" {
		u.tenants[p.tenant]++
	}
}

func (u *usage) remove(p party) {
	u.total--
	if u.each[p.caller]--; u.each[p.caller] == 0 {
		delete(u.each, p.caller)
	}

	if p.tenant == "" {
		return
	}

	if u.tenants[p.tenant]--; u.tenants[p.tenant] == 0 {
		delete(u.tenants, p.tenant)
	}
}

// waiter is a request in the queue. Its channel is closed when it has got a slot.
type waiter struct {
	who   party
	ready chan struct{}
}

func newLoadShedder(slots, queue limit) *loadShedder {
	return &loadShedder{
		slots:   slots,
		queue:   queue,
		busy:    newUsage(),
		waiting: newUsage(),
	}
}

// acquire takes a slot for the caller and returns the function that gives it back. It
// returns a problem if the queue is full, if no slot becomes free in time, or if ctx ends.
func (l *loadShedder) acquire(ctx context.Context, who party) (release func(), p *problem) {
	w, p := l.enter(who)
	if p != nil {
		return nil, p
	}

	if w == nil {
		return l.releaseOnce(who), nil
	}

	timer := time.NewTimer(maxQueueWait)
	defer timer.Stop()

	select {
	case <-w.ready:
		return l.releaseOnce(who), nil
	case <-timer.C:
	case <-ctx.Done():
	}

	if l.leave(w) {
		return nil, overloaded()
	}

	return l.releaseOnce(who), nil // it got the slot at the last moment
}

// enter takes a slot, or a place in the queue, whose waiter it returns.
func (l *loadShedder) enter(who party) (*waiter, *problem) {
	l.mu.Lock()
	defer l.mu.Unlock()

	// No waiting request fits now: release would have served it. So none is overtaken.
	if l.busy.fits(who, l.slots) {
		l.busy.add(who)
		return nil, nil
	}

	if !l.waiting.fits(who, l.queue) {
		return nil, overloaded()
	}

	w := &waiter{who: who, ready: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	l.waiting.add(who)

	return w, nil
}

// leave takes the waiter out of the queue. It reports false if the waiter has a slot.
func (l *loadShedder) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	i := slices.Index(l.waiters, w)
	if i < 0 {
		return false
	}
	l.dequeue(i)

	return true
}

func (l *loadShedder) dequeue(i int) {
	l.waiting.remove(l.waiters[i].who)
	l.waiters = slices.Delete(l.waiters, i, i+1)
}

// releaseOnce gives a slot back on its first call. An event stream calls it before the
// handler does.
func (l *loadShedder) releaseOnce(who party) func() {
	return sync.OnceFunc(func() { l.release(who) })
}

// release gives the caller's slot to the first waiter whose caller may have one more.
func (l *loadShedder) release(who party) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.busy.remove(who)

	// The first one whose caller has room, so that a caller with many requests does not block others.
	for i, w := range l.waiters {
		if l.busy.fits(w.who, l.slots) {
			l.busy.add(w.who)
			l.dequeue(i)
			close(w.ready)

			return
		}
	}
}

func overloaded() *problem {
	return newProblem(http.StatusServiceUnavailable, "overloaded", "Too many requests at once. Nothing was done for this one.").retryAfter(1)
}
