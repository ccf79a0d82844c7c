package retryqueue

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// Pause stops the calls of a handler on all workers until Resume is called. Its records go to the
// retry queue, where they wait in the order of each item; other handlers go on. The workers read of
// the pause within a third of Config.LeaseDuration, at most 5 s. Calls that run then end as usual.
// A pause has no effect on Lambda functions.
//
// A pause may last longer than the 24 hours after which a stream loses its records. Each waiting
// record costs one write, and later two reads and the write that removes it.
//
// A handler that is paused already keeps the time of its first pause. A name that no worker
// has is not refused.
func (q Queue) Pause(ctx context.Context, handler string) error {
	now := time.Now()

	// The time is this process's own: without heartbeats it does not know the service's clock. The
	// insert is for the time before the first worker with this handler starts, when there is no
	// row.
	inserted, err := q.Leases().Insert(ctx, leases.Lease{Shard: handler, Epoch: now.Unix(), PausedAt: now})
	if err != nil || inserted {
		return err
	}

	update := q.Leases().Update(handler).
		IfPresent(leases.ShardKey).
		IfAbsent(leases.LeasePausedAt).
		SetValue(leases.LeasePausedAt, dynamo.Millis(now))

	if _, _, err := store.Apply(ctx, q.DynamoDB, update); err != nil {
		return fmt.Errorf("streams: pause handler %s: %w", handler, err)
	}

	return nil
}

// Resume ends the pause of a handler: its waiting records are delivered, the oldest of each
// item first. It does nothing if the handler is not paused.
func (q Queue) Resume(ctx context.Context, handler string) error {
	update := q.Leases().Update(handler).
		IfPresent(leases.LeasePausedAt).
		RemoveAttribute(leases.LeasePausedAt)

	if _, _, err := store.Apply(ctx, q.DynamoDB, update); err != nil {
		return fmt.Errorf("streams: resume handler %s: %w", handler, err)
	}

	return nil
}
