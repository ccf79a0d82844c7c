package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The schedule of the extensions, in twelfths of the visibility timeout. The timeout is extended at
// the first check after a quarter of it has passed. There is a check every twelfth, so this is
// before a third has passed. A call must be answered within a sixth. If no call was accepted for
// ten twelfths, the message counts as lost. At that time the service has not yet given it to
// another receiver.
const (
	checkEvery   = 1
	extendAfter  = 3
	answerWithin = 2
	lostAfter    = 10
)

func (c *Consumer) twelfths(n int) time.Duration { return c.cfg.Visibility * time.Duration(n) / 12 }

// keepInvisible extends the visibility timeouts of the messages in flight until ctx ends.
func (c *Consumer) keepInvisible(ctx context.Context) {
	tick := time.NewTicker(c.twelfths(checkEvery))
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		var calls sync.WaitGroup
		for batch := range slices.Chunk(c.lockDue(time.Now()), maxBatch) {
			calls.Go(func() { c.extend(ctx, batch) })
		}
		calls.Wait()
	}
}

// lockDue returns the messages whose visibility must be extended now, with their mu locked. It
// cancels the handlers of messages whose extensions have failed for too long.
func (c *Consumer) lockDue(now time.Time) []*inFlight {
	c.mu.Lock()

	all := make([]*inFlight, 0, len(c.inFlight))
	for f := range c.inFlight {
		all = append(all, f)
	}
	c.mu.Unlock()

	var due []*inFlight
	for _, f := range all {
		// Another goroutine is releasing the message. To wait for it would delay the extensions of
		// the others.
		if !f.mu.TryLock() {
			continue
		}

		age := now.Sub(f.extendedAt)
		switch {
		case f.released || f.isLost() || age < c.twelfths(extendAfter):
		case age >= c.twelfths(lostAfter):
			f.cancel(fmt.Errorf("%w: its visibility could not be extended for %v", ErrMessageLost, age.Round(time.Millisecond)))
		default:
			due = append(due, f)
			continue
		}
		f.mu.Unlock()
	}

	return due
}

// extend renews the visibility timeouts of up to ten locked messages and unlocks them.
func (c *Consumer) extend(ctx context.Context, batch []*inFlight) {
	began := time.Now()

	call, cancel := context.WithTimeout(ctx, c.twelfths(answerWithin))
	defer cancel()

	failed, err := c.queue.changeVisibility(call, messages(batch), c.cfg.Visibility, withoutRetries)
	for i, f := range batch {
		switch {
		case err != nil: // tried again at the next check
		case failed[i] == nil:
			// The time at which the call began: the service may have applied the extension at any
			// moment since then.
			f.extendedAt = began
		case failed[i].isReceiptInvalid():
			f.cancel(fmt.Errorf("%w: %w", ErrMessageLost, failed[i]))
		}
		f.mu.Unlock()
	}

	if hook := c.cfg.Events.Extended; hook != nil && !errors.Is(ctx.Err(), context.Canceled) {
		hook(len(batch), err)
	}
}

func messages(batch []*inFlight) []Message {
	out := make([]Message, len(batch))
	for i, f := range batch {
		out[i] = f.message
	}

	return out
}
