package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// Wait waits for d. It reports false when ctx ends first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// WaitJitter waits as Wait does for a random part of limit (full jitter), which is more than 0.
func WaitJitter(ctx context.Context, limit time.Duration) bool {
	return Wait(ctx, rand.N(limit)) //nolint:gosec // jitter, not a secret
}
