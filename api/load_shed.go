package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxQueueWait is how long a request waits for a slot.
const maxQueueWait = time.Second

// loadShedder limits how many requests are served at once. A bounded number of further
// requests wait; the rest are refused before any work is done for them.
type loadShedder struct {
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64 // the largest value of waiting
}

func newLoadShedder(inFlight, queue int) *loadShedder {
	return &loadShedder{slots: make(chan struct{}, inFlight), queue: int64(queue)}
}

// acquire takes a slot and returns the function that gives it back. It returns a problem if
// the queue is full, if no slot becomes free in time, or if ctx ends.
func (l *loadShedder) acquire(ctx context.Context) (release func(), p *problem) {
	select {
	case l.slots <- struct{}{}:
		return l.releaseOnce(), nil
	default:
	}

	defer l.waiting.Add(-1)

	if l.waiting.Add(1) > l.queue {
		return nil, overloaded()
	}

	timer := time.NewTimer(maxQueueWait)
	defer timer.Stop()

	select {
	case l.slots <- struct{}{}:
		return l.releaseOnce(), nil
	case <-timer.C:
	case <-ctx.Done():
	}

	return nil, overloaded()
}

// releaseOnce gives a slot back on its first call. An event stream calls it before the
// handler does.
func (l *loadShedder) releaseOnce() func() { return sync.OnceFunc(func() { <-l.slots }) }

func overloaded() *problem {
	return newProblem(http.StatusServiceUnavailable, "overloaded", "Too many requests at once. Nothing was done for this one.").retryAfter(1)
}
