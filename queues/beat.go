package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The life of a visibility time-out, in twelfths: it is renewed when a quarter of it
// has passed, looked at every twelfth, so no later than at a third; a call has a sixth
// to be answered; and when nothing was accepted for ten of twelve, the message is given
// up before the service gives it to somebody else.
const (
	lookEvery   = 1
	renewAfter  = 3
	callWithin  = 2
	giveUpAfter = 10
)

func (c *Consumer) twelfths(n int) time.Duration { return c.cfg.Visibility * time.Duration(n) / 12 }

// beat keeps the messages held invisible until ctx ends, ten to a call.
func (c *Consumer) beat(ctx context.Context) {
	tick := time.NewTicker(c.twelfths(lookEvery))
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		var calls sync.WaitGroup
		for batch := range slices.Chunk(c.due(time.Now()), maxBatch) {
			calls.Go(func() { c.extend(ctx, batch) })
		}
		calls.Wait()
	}
}

// due returns the messages that are to be extended, locked, and gives up those that
// could not be extended for too long.
func (c *Consumer) due(now time.Time) []*held {
	c.mu.Lock()

	all := make([]*held, 0, len(c.held))
	for h := range c.held {
		all = append(all, h)
	}
	c.mu.Unlock()

	var due []*held
	for _, h := range all {
		if !h.mu.TryLock() {
			continue // its end is on the way
		}

		age := now.Sub(h.extended)
		switch {
		case h.released || h.lost() || age < c.twelfths(renewAfter):
		case age >= c.twelfths(giveUpAfter):
			h.cancel(fmt.Errorf("%w: its visibility could not be extended for %v", ErrMessageLost, age.Round(time.Millisecond)))
		default:
			due = append(due, h)
			continue
		}
		h.mu.Unlock()
	}

	return due
}

// extend renews the visibility time-outs of up to ten messages and unlocks them.
func (c *Consumer) extend(ctx context.Context, batch []*held) {
	began := time.Now()
	call, cancel := context.WithTimeout(ctx, c.twelfths(callWithin))
	defer cancel()

	refused, err := c.queue.hide(call, messages(batch), c.cfg.Visibility, unretried)
	for i, h := range batch {
		switch {
		case err != nil:
		case refused[i] == nil:
			h.extended = began
		case refused[i].void():
			h.cancel(fmt.Errorf("%w: %w", ErrMessageLost, refused[i]))
		}
		h.mu.Unlock()
	}

	if f := c.cfg.Events.Extended; f != nil && !errors.Is(ctx.Err(), context.Canceled) {
		f(len(batch), err)
	}
}

func messages(batch []*held) []Message {
	out := make([]Message, len(batch))
	for i, h := range batch {
		out[i] = h.m
	}

	return out
}
