package streams

import (
	"context"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// DynamoDB allows an account 10 calls of DescribeStream per second. The one worker that lists
// the shards for all uses up to listingRate of them, and all workers together up to
// lookupRate for single questions, at most lookupBurst at once.
const (
	describeRate = listingRate
	listingRate  = 5
	lookupRate   = 4
	lookupBurst  = 8
)

// pacer spaces calls out. The zero pacer does not.
type pacer struct {
	mu    sync.Mutex
	every time.Duration // 0: no limit
	burst int           // calls that may come at once after a pause
	next  time.Time     // when the next call is due if calls follow each other
}

// set allows rate calls per second.
func (p *pacer) set(rate float64, burst int) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.every, p.burst = time.Duration(float64(time.Second)/rate), burst
}

// take takes a place if a call may be made at now, and otherwise returns how long to wait.
func (p *pacer) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()

	if earliest := now.Add(-time.Duration(p.burst-1) * p.every); p.next.Before(earliest) {
		p.next = earliest
	}

	if wait := p.next.Sub(now); wait > 0 {
		return wait
	}
	p.next = p.next.Add(p.every)

	return 0
}

// wait waits until a call may be made, and takes its place. Its error is ctx's.
func (p *pacer) wait(ctx context.Context) error {
	for {
		pause := p.take(time.Now())
		if pause <= 0 {
			return nil
		}

		if !worker.Wait(ctx, pause) {
			return ctx.Err()
		}
	}
}
