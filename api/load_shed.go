package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// queueFor is how long a request waits for a place.
const queueFor = time.Second

// gate lets a number of requests through at once, lets some wait, and turns the rest
// away before any work is done for them.
type gate struct {
	places  chan struct{}
	waiting atomic.Int64
	queue   int64
}

func newGate(inFlight, queue int) *gate {
	return &gate{places: make(chan struct{}, inFlight), queue: int64(queue)}
}

// enter returns how to leave, or the problem.
func (g *gate) enter(ctx context.Context) (leave func(), p *problem) {
	select {
	case g.places <- struct{}{}:
		return sync.OnceFunc(func() { <-g.places }), nil
	default:
	}
	defer g.waiting.Add(-1)

	if g.waiting.Add(1) > g.queue {
		return nil, overloaded()
	}
	timer := time.NewTimer(queueFor)
	defer timer.Stop()

	select {
	case g.places <- struct{}{}:
		return sync.OnceFunc(func() { <-g.places }), nil
	case <-timer.C:
	case <-ctx.Done():
	}

	return nil, overloaded()
}

func overloaded() *problem {
	return newProblem(http.StatusServiceUnavailable, "overloaded", "Too many requests are being served. Nothing was done for this one.").later(1)
}
