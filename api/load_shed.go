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
// No caller can take all slots or all places in the queue, unless there is only one caller.
type loadShedder struct {
	slots, queue limit

	mu      sync.Mutex
	busy    usage
	waiting usage
	waiters []*waiter // the longest waiting one first
}

// limit bounds a number in total and for each caller.
type limit struct{ total, each int }

// share returns the limit by which one caller gets three quarters of the total at most.
func share(total int) limit { return limit{total, total - total/4} }

// usage is the number that a limit bounds.
type usage struct {
	total int
	each  map[string]int
}

func (u *usage) fits(caller string, l limit) bool {
	return u.total < l.total && u.each[caller] < l.each
}

func (u *usage) add(caller string) {
	u.total++
	u.each[caller]++
}

func (u *usage) remove(caller string) {
	u.total--
	if u.each[caller]--; u.each[caller] == 0 {
		delete(u.each, caller)
	}
}

// waiter is a request in the queue. Its channel is closed when it has got a slot.
type waiter struct {
	caller string
	ready  chan struct{}
}

func newLoadShedder(slots, queue limit) *loadShedder {
	return &loadShedder{
		slots:   slots,
		queue:   queue,
		busy:    usage{each: map[string]int{}},
		waiting: usage{each: map[string]int{}},
	}
}

// acquire takes a slot for the caller and returns the function that gives it back. It
// returns a problem if the queue is full, if no slot becomes free in time, or if ctx ends.
func (l *loadShedder) acquire(ctx context.Context, caller string) (release func(), p *problem) {
	w, p := l.enter(caller)
	if p != nil {
		return nil, p
	}

	if w == nil {
		return l.releaseOnce(caller), nil
	}

	timer := time.NewTimer(maxQueueWait)
	defer timer.Stop()

	select {
	case <-w.ready:
		return l.releaseOnce(caller), nil
	case <-timer.C:
	case <-ctx.Done():
	}

	if l.leave(w) {
		return nil, overloaded()
	}

	return l.releaseOnce(caller), nil // it got the slot at the last moment
}

// enter takes a slot, or a place in the queue, whose waiter it returns.
func (l *loadShedder) enter(caller string) (*waiter, *problem) {
	l.mu.Lock()
	defer l.mu.Unlock()

	// No waiting request fits now: release would have served it. So none is overtaken.
	if l.busy.fits(caller, l.slots) {
		l.busy.add(caller)
		return nil, nil
	}

	if !l.waiting.fits(caller, l.queue) {
		return nil, overloaded()
	}

	w := &waiter{caller: caller, ready: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	l.waiting.add(caller)

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
	l.waiting.remove(l.waiters[i].caller)
	l.waiters = slices.Delete(l.waiters, i, i+1)
}

// releaseOnce gives a slot back on its first call. An event stream calls it before the
// handler does.
func (l *loadShedder) releaseOnce(caller string) func() {
	return sync.OnceFunc(func() { l.release(caller) })
}

// release gives the caller's slot to the first waiter whose caller may have one more.
func (l *loadShedder) release(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.busy.remove(caller)

	// The first one whose caller has room, so that a caller with many requests does not block others.
	for i, w := range l.waiters {
		if l.busy.fits(w.caller, l.slots) {
			l.busy.add(w.caller)
			l.dequeue(i)
			close(w.ready)

			return
		}
	}
}

func overloaded() *problem {
	return newProblem(http.StatusServiceUnavailable, "overloaded", "Too many requests at once. Nothing was done for this one.").retryAfter(1)
}
