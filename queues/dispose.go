package queues

import (
	"context"
	"errors"
	"slices"
	"time"

	"ratchet/internal/worker"
)

// handle calls the handler and disposes of the message as the handler answers. It reports whether
// the message was deleted.
func (c *Consumer) handle(f *inFlight) (gone bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(f.ctx, c.cfg.Timeout, ErrTimeout)

	// If the handler ignores the end of its context, its message is not extended any more, so that
	// other consumers get it. The slot stays taken.
	watchdog := time.AfterFunc(c.cfg.Timeout+c.cfg.drainGrace, f.release)

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

// dispose does with the message as the handler answers. It returns the answer as it counts, which
// is a rejection after the last attempt, and the disposition of the message.
func (c *Consumer) dispose(f *inFlight, answer Outcome) (Outcome, Disposition) {
	m := f.message

	if p := (*PanicError)(nil); errors.As(answer.Err, &p) {
		c.cfg.Log.Error("handler panicked", "message", m, "err", p, "stack", string(p.Stack))
	}

	// The stop has cut the handler short, so the receive does not count as an attempt. The message
	// becomes visible at once, for other consumers.
	stopped := errors.Is(context.Cause(f.ctx), ErrStopped)
	if answer.Kind == KindRetry && stopped {
		return answer, c.returnAfter(f, 0)
	}

	// Another receiver may have the message, so this failure is not counted.
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
		// First sent to the dead-letter queue, then deleted: after a crash in between, the message
		// comes again. In the other order it would be lost.
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

// sendDeadLetter copies a rejected message to the dead-letter queue. If there is no such queue, or
// the call fails, the message comes again after the wait for n (see policy.delay).
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
	f.release() // otherwise a later extension would hide the message again

	ctx, cancel := context.WithTimeout(c.calls, callTimeout)
	defer cancel()

	// The service's limit of 12 h counts from the receive.
	d = min(d, maxVisibility-time.Since(f.receivedAt)-time.Minute)

	failed, err := c.queue.changeVisibility(ctx, []Message{f.message}, max(d, 0))
	if err != nil || failed[0] != nil {
		return Lost
	}

	return Returned
}

// returnUnread makes messages visible again for which no handler was called.
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
	// Freed before the hook runs, so that a slow hook delays no poll.
	<-c.slots

	if hook := c.cfg.Events.Ended; hook != nil {
		hook(e)
	}
}
