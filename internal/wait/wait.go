// Package wait pauses until a time has passed or a context has ended. The runtimes that
// stand alone (activities, streams, queues, txn) have their own few lines.
package wait

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits for d. It reports false when ctx ends first.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// UpTo waits as For does for a random part of limit (full jitter), which is more than 0.
func UpTo(ctx context.Context, limit time.Duration) bool {
	return For(ctx, rand.N(limit)) //nolint:gosec // jitter, not a secret
}
