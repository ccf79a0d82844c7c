package queues

import (
	"context"
	"errors"
	"slices"
	"time"

	"ratchet/internal/worker"
)

// handle calls the handler and carries its answer out. It reports whether the message is
// gone for good.
func (c *Consumer) handle(f *inFlight) (gone bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(f.ctx, c.cfg.Timeout, ErrTimeout)

	// A handler that ignores the end of its context keeps its slot, but must not keep
	// the message from other consumers.
	watchdog := time.AfterFunc(c.cfg.Timeout+c.cfg.DrainGrace, f.release)

	answer := invoke(ctx, c.cfg.Handler, f.message)
	watchdog.Stop()
	cancel()

	end := Ended{Message: f.message, Ran: time.Since(began)}
	end.Outcome, end.Disposition = c.dispose(f, answer)
	c.end(f, end)

	return end.Disposition == Deleted || end.Disposition == DeadLettered
}

// invoke runs the handler. A panic and runtime.Goexit become a Retry.
func invoke(ctx context.Context, handler Handler, m Message) (answer Outcome) {
	err := worker.Call(func() error {
		answer = handler(ctx, m)
		return nil
	})

	var p *worker.PanicError
	if errors.As(err, &p) {
		return Retry(0, (*PanicError)(p))
	}

	return answer
}

// dispose carries the handler's answer out. It returns the outcome, which is a rejection after the
// last attempt, and the disposition of the message.
func (c *Consumer) dispose(f *inFlight, answer Outcome) (Outcome, Disposition) {
	m := f.message

	if p := (*PanicError)(nil); errors.As(answer.Err, &p) {
		c.cfg.Log.Error("handler panicked", "message", m, "err", p, "stack", string(p.Stack))
	}

	// The stop has cut the handler short, so the receive does not count as an attempt.
	// The message is visible again at once, for a consumer that goes on.
	stopped := errors.Is(context.Cause(f.ctx), ErrStopped)
	if answer.Kind == KindRetry && stopped {
		return answer, c.returnAfter(f, 0)
	}

	// Another receiver may have the message, so this receive says nothing about it.
	if answer.Kind == KindRetry && f.isLost() {
		return answer, c.returnAfter(f, c.policy.delay(answer, m.Receives))
	}

	o, n, err := c.policy.limitAttempts(c.calls, answer, m)
	if err != nil && c.countLog.Allow() {
		c.cfg.Log.Warn("a failure of a message was not counted", "err", err)
	}

	disposition := Deleted

	switch o.Kind {
	case KindDone:
	case KindReject:
		// Stored first and deleted then: a crash in between repeats the message, and the
		// other order would lose it.
		c.cfg.Log.Warn("message rejected", "message", m, "receives", m.Receives, "reason", o.Err)

		if disposition = c.sendDeadLetter(f, o, n); disposition != DeadLettered {
			return o, disposition
		}
	case KindInProgress:
		if o.Err != nil && c.putOffLog.Allow() {
			c.cfg.Log.Warn("messages are put off; this one is the latest", "message", m, "receives", m.Receives, "err", o.Err)
		}

		return o, c.returnAfter(f, c.policy.delay(o, n))
	default:
		c.cfg.Log.Debug("message failed", "message", m, "receives", m.Receives, "err", o.Err)
		return o, c.returnAfter(f, c.policy.delay(o, n))
	}

	if err := c.ack(f); err != nil {
		c.cfg.Log.Info("message not deleted; it may come again", "message", m, "err", err)
		return o, Lost
	}

	return o, disposition
}

// sendDeadLetter copies a rejected message to the dead-letter queue. Without such a
// queue, or when it cannot be reached, the message returns after the wait of its nth
// failure or receive.
func (c *Consumer) sendDeadLetter(f *inFlight, o Outcome, n int) Disposition {
	if c.queue.deadLetters == "" {
		return c.returnAfter(f, c.policy.delay(o, n))
	}

	ctx, cancel := context.WithTimeout(c.calls, callTimeout)
	defer cancel()

	if err := c.queue.sendDeadLetter(ctx, f.message, o.Err); err != nil {
		c.cfg.Log.Error("message rejected, and no dead letter could be sent", "message", f.message, "err", err)
		return c.returnAfter(f, c.policy.delay(o, n))
	}

	return DeadLettered
}

// returnAfter makes the message visible again after d. When the call fails, the message
// becomes visible when its timeout is over.
func (c *Consumer) returnAfter(f *inFlight, d time.Duration) Disposition {
	f.release() // an extension that arrived later would hide the message again

	ctx, cancel := context.WithTimeout(c.calls, callTimeout)
	defer cancel()

	// The service counts its limit of 12 h from the receive.
	d = min(d, maxVisibility-time.Since(f.receivedAt)-time.Minute)

	failed, err := c.queue.changeVisibility(ctx, []Message{f.message}, max(d, 0))
	if err != nil || failed[0] != nil {
		return Lost
	}

	return Returned
}

// returnUnread makes messages visible again that no handler was called for.
func (c *Consumer) returnUnread(rest []*inFlight) {
	for batch := range slices.Chunk(rest, maxBatch) {
		for _, f := range batch {
			f.release()
		}

		ctx, cancel := context.WithTimeout(c.calls, callTimeout)
		failed, err := c.queue.changeVisibility(ctx, messages(batch), 0)
		cancel()

		for i, f := range batch {
			disposition := Unread
			if err != nil || failed[i] != nil {
				disposition = Lost
			}
			c.end(f, Ended{Message: f.message, Disposition: disposition})
		}
	}
}

// end forgets the message, frees its slot and calls the hook.
func (c *Consumer) end(f *inFlight, e Ended) {
	e.Took = time.Since(f.receivedAt)
	f.cancel(context.Canceled)

	c.mu.Lock()
	delete(c.inFlight, f)
	c.mu.Unlock()
	// The slot is free before the hook runs: a slow hook holds up no poll.
	<-c.slots

	if hook := c.cfg.Events.Ended; hook != nil {
		hook(e)
	}
}
