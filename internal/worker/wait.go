package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// Wait waits for d. It reports false when ctx ends first.
func Wait(ctx context.Context, d time.Duration) bool { return !WaitClosed(ctx.Done(), d) }

// WaitClosed waits for done to be closed, for d at most. It reports whether done was
// closed in time.
func WaitClosed(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// waitJitter waits as Wait does for a random part of limit (full jitter), which is more than 0.
func waitJitter(ctx context.Context, limit time.Duration) bool {
	return Wait(ctx, rand.N(limit)) //nolint:gosec // jitter, not a secret
}

// WaitRetry waits before a retry, where attempt counts the tries so far: as waitJitter does, with a
// limit of first * 2^attempt, but not more than most.
func WaitRetry(ctx context.Context, attempt int, first, most time.Duration) bool {
	limit := first
	for range attempt {
		// The loop stops early, so that a large attempt does not overflow.
		if limit >= most {
			break
		}
		limit *= 2
	}

	return waitJitter(ctx, min(limit, most))
}
