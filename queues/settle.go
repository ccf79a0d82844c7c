package queues

import (
	"context"
	"errors"
	"slices"
	"time"
)

// handle calls the handler and makes its answer known. It reports whether the message
// is gone for good.
func (c *Consumer) handle(h *held) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(h.ctx, c.cfg.Timeout, ErrTimeout)
	// A handler that ignores the end of its context shall not keep the message from others.
	watchdog := time.AfterFunc(c.cfg.Timeout+c.cfg.DrainGrace, h.release)
	answer := invoke(ctx, c.cfg.Handler, h.m)
	watchdog.Stop()
	cancel()
	end := Ended{Message: h.m, Ran: time.Since(began)}
	end.Outcome, end.Fate = c.settle(h, answer)
	c.end(h, end)

	return end.Fate == Deleted || end.Fate == DeadLettered
}

// invoke runs the handler in a goroutine of its own, so that runtime.Goexit ends
// nothing else, and waits for it.
func invoke(ctx context.Context, handler Handler, m Message) (out Outcome) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		call(ctx, handler, m, &out)
	}()
	<-ended

	return out
}

// settle makes the answer known to the service.
func (c *Consumer) settle(h *held, answer Outcome) (Outcome, Fate) {
	if p := (*PanicError)(nil); errors.As(answer.Err, &p) {
		c.cfg.Log.Error("handler panicked", "message", h.m, "err", p, "stack", string(p.Stack))
	}

	stopped := errors.Is(context.Cause(h.ctx), ErrStopped)
	if answer.Kind == KindRetry && stopped {
		return answer, c.putBack(h, 0) // cut short by the stop: nobody's fault
	}

	o := c.policy.judge(answer, h.m, c.pardons.of(h.m.ID))
	fate := Deleted
	switch o.Kind {
	case KindDone:
	case KindReject:
		c.cfg.Log.Warn("message rejected", "message", h.m, "receives", h.m.Receives, "reason", o.Err)

		if fate = c.bury(h, o); fate != DeadLettered {
			return o, fate
		}
	case KindInProgress:
		if o.Err != nil && c.putOff.due(time.Now()) {
			c.cfg.Log.Warn("messages are put off; this one is the latest", "message", h.m, "receives", h.m.Receives, "err", o.Err)
		}
		c.pardons.add(h.m.ID)

		return o, c.putBack(h, c.policy.pause(o, h.m))
	default:
		c.cfg.Log.Debug("message failed", "message", h.m, "receives", h.m.Receives, "err", o.Err)
		return o, c.putBack(h, c.policy.pause(o, h.m))
	}

	if err := c.ack(h); err != nil {
		c.cfg.Log.Info("message not deleted; it may come again", "message", h.m, "err", err)
		return o, Lost
	}

	return o, fate
}

// bury sends a rejected message to the dead letters. Where there are none, or they
// cannot be reached, it is returned with a pause.
func (c *Consumer) bury(h *held, o Outcome) Fate {
	if c.queue.deadLetters == "" {
		return c.putBack(h, c.policy.pause(o, h.m))
	}
	ctx, cancel := context.WithTimeout(c.calls, callTimeout)
	defer cancel()

	if err := c.queue.deadLetter(ctx, h.m, o.Err); err != nil {
		c.cfg.Log.Error("message rejected, and no dead letter could be sent", "message", h.m, "err", err)
		return c.putBack(h, c.policy.pause(o, h.m))
	}

	return DeadLettered
}

// putBack lets the message come again after d. Where that cannot be told, it comes when
// its visibility time-out is over.
func (c *Consumer) putBack(h *held, d time.Duration) Fate {
	h.release()
	ctx, cancel := context.WithTimeout(c.calls, callTimeout)
	defer cancel()
	d = min(d, maxVisibility-time.Since(h.at)-time.Minute) // the service counts from the receive

	refused, err := c.queue.hide(ctx, []Message{h.m}, max(d, 0))
	if err != nil || refused[0] != nil {
		return Lost
	}

	return Returned
}

// giveBack returns messages that were not begun.
func (c *Consumer) giveBack(rest []*held) {
	for batch := range slices.Chunk(rest, maxBatch) {
		for _, h := range batch {
			h.release()
			c.pardons.add(h.m.ID)
		}
		ctx, cancel := context.WithTimeout(c.calls, callTimeout)
		refused, err := c.queue.hide(ctx, messages(batch), 0)
		cancel()

		for i, h := range batch {
			fate := Unread
			if err != nil || refused[i] != nil {
				fate = Lost
			}
			c.end(h, Ended{Message: h.m, Fate: fate})
		}
	}
}

// end lets go of a message: its slot is free.
func (c *Consumer) end(h *held, e Ended) {
	e.Took = time.Since(h.at)
	h.cancel(context.Canceled)
	c.mu.Lock()
	delete(c.held, h)
	c.mu.Unlock()
	<-c.slots

	if f := c.cfg.Events.Ended; f != nil {
		f(e)
	}
}
