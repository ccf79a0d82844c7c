package queues

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ackTimeout is how long a deletion is repeated; callTimeout bounds one call.
const (
	ackTimeout  = 5 * time.Minute
	callTimeout = 10 * time.Second
)

// ack deletes the message. It returns nil once the service has said that it is gone;
// the message's visibility is extended until then.
func (c *Consumer) ack(h *held) error {
	h.ackBy = time.Now().Add(ackTimeout)
	h.acked = make(chan error, 1)
	c.acks <- h // has room for every message that is held

	select {
	case err := <-h.acked:
		return err
	case <-c.calls.Done():
		return c.calls.Err()
	}
}

// deleter deletes what is to be deleted until ctx ends: as many to a call, up to ten,
// as have come while the last call was on its way.
func (c *Consumer) deleter(ctx context.Context) {
	for {
		var batch []*held
		select {
		case <-ctx.Done():
			return
		case h := <-c.acks:
			batch = append(batch, h)
		}

		for more := true; more && len(batch) < maxBatch; {
			select {
			case h := <-c.acks:
				batch = append(batch, h)
			default:
				more = false
			}
		}
		c.deleteBatch(ctx, batch)
	}
}

// deleteBatch deletes up to ten messages; those that fail come again after a pause.
func (c *Consumer) deleteBatch(ctx context.Context, batch []*held) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	refused, err := c.queue.delete(call, messages(batch), unretried)
	now := time.Now()
	for i, h := range batch {
		failed := err
		if e := refused[i]; err == nil && e != nil {
			failed = e
			if e.void() { // by another receive
				h.acked <- fmt.Errorf("%w: %w", ErrMessageLost, e)
				continue
			}
		}

		switch {
		case failed == nil:
			h.acked <- nil
		case h.lost() || now.After(h.ackBy) || errors.Is(context.Cause(h.ctx), ErrStopped):
			h.acked <- failed
		default:
			h.refused++
			time.AfterFunc(ackPause(h.refused), func() { c.acks <- h })
		}
	}
}

// ackPause is the pause before the nth repetition: 100 ms, doubling, at most 5 s.
func ackPause(n int) time.Duration {
	d := min(100*time.Millisecond<<min(n-1, 10), 5*time.Second)
	return d/2 + rand.N(d/2) //nolint:gosec // jitter
}
