package queues

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
)

const (
	deleteTimeout = 5 * time.Minute  // how long a deletion is tried
	callTimeout   = 10 * time.Second // how long one call to the queue may take
)

// deleteBackoff has the waits between the attempts to delete a message.
var deleteBackoff = worker.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}

// ack deletes the message. It returns nil when the service has confirmed the deletion. Until then
// the message's visibility is extended as before.
func (c *Consumer) ack(f *inFlight) error {
	f.deleteBy = time.Now().Add(deleteTimeout)
	f.deleted = make(chan error, 1)
	c.deletions <- f // never blocks: it has room for every message in flight

	select {
	case err := <-f.deleted:
		return err
	case <-c.calls.Done():
		return c.calls.Err()
	}
}

// deleteInBatches deletes messages until ctx ends. Each call deletes the messages that came during
// the call before, up to ten.
func (c *Consumer) deleteInBatches(ctx context.Context) {
	for {
		var batch []*inFlight
		select {
		case <-ctx.Done():
			return
		case f := <-c.deletions:
			batch = append(batch, f)
		}

		// No wait for further messages: a single message is deleted at once, and under load the
		// batches are full anyway.
		for more := true; more && len(batch) < maxBatch; {
			select {
			case f := <-c.deletions:
				batch = append(batch, f)
			default:
				more = false
			}
		}
		c.deleteBatch(ctx, batch)
	}
}

// deleteBatch deletes up to ten messages. A message whose deletion fails is queued again after a
// wait.
func (c *Consumer) deleteBatch(ctx context.Context, batch []*inFlight) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	failed, callErr := c.queue.delete(call, messages(batch), withoutRetries)
	now := time.Now()

	for i, f := range batch {
		err := callErr
		if e := failed[i]; err == nil && e != nil {
			err = e

			// Another receiver has the message, so the receipt handle of this receive is void.
			if e.isReceiptInvalid() {
				f.deleted <- fmt.Errorf("%w: %w", ErrMessageLost, e)
				continue
			}
		}

		switch {
		case err == nil:
			f.deleted <- nil
		// When the drain's timeout is over, a failed deletion is not retried, and the message comes
		// again.
		case f.isLost() || now.After(f.deleteBy) || errors.Is(context.Cause(f.ctx), ErrStopped):
			f.deleted <- err
		default:
			f.deleteFailures++
			time.AfterFunc(deleteBackoff.Delay(f.deleteFailures), func() { c.deletions <- f })
		}
	}
}
