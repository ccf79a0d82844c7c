package server

import (
	"context"
	"fmt"
	"time"

	"ratchet/streams/reactions"
	"ratchet/streams/status"
	"ratchet/transitions"
)

// handledTo returns the time up to which the workers have handled the orders' stream, by the checkpoints of
// its shards: when the first record was made that is not handled, and the present time if there is none.
// Times of records are by the clock of the service, in whole seconds.
func (b *Backend) handledTo(ctx context.Context) (time.Time, error) {
	handled := time.Now()

	inspector := b.StreamInspector()
	// Only the first record after each checkpoint counts, and not which worker is alive.
	inspector.Handlers, inspector.Count, inspector.Watch = nil, 1, time.Nanosecond

	seen, err := inspector.Status(ctx)
	if err != nil {
		return time.Time{}, err
	}

	for _, shard := range seen.Shards {
		switch {
		case shard.State == status.ShardFinished:
		case shard.Unread != "":
			return time.Time{}, fmt.Errorf("shard %s: %s", shard.Shard, shard.Unread)
		case !shard.OldestAt.IsZero() && shard.OldestAt.Before(handled):
			handled = shard.OldestAt
		}
	}

	return handled, nil
}

// JournalWaits reports whether changes of the order wait in the retry queue of the journal's handler.
func (b *Backend) JournalWaits(ctx context.Context, id transitions.OrderID) (bool, error) {
	_, waits, err := b.RetryQueue().WaitingOf(ctx, reactions.JournalHandler, b.Orders.Mapping().ItemKey(id))

	return waits, err
}
