package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
)

// outcome is how an attempt ended.
type outcome struct {
	answer Answer
	err    error
	took   time.Duration
	// stopped says that the attempt failed because the worker stops. Such an attempt does not
	// count.
	stopped bool
}

// acquire takes a place for an attempt. It reports false if no attempt may begin now. If the
// endpoint's rate is the reason, wait is the time until the rate allows an attempt; otherwise wait
// is 0. The caller holds the lock.
func (d *Deliveries) acquire(l *lane, id string, now time.Time) (wait time.Duration, ok bool) {
	if !d.running || l.busy[id] || len(l.busy) >= l.limit(now) {
		return 0, false
	}

	// Each endpoint has one place that no other endpoint can take. Only further places are shared.
	shared := len(l.busy) > 0
	if shared && !d.free.has(l.slow) {
		return 0, false
	}

	// Asked last: what the rate allows is used up by asking.
	if wait, ok := l.allow(now); !ok {
		return wait, false
	}

	if shared {
		d.free.take(&l.held, l.slow)
	}
	l.busy[id] = true
	d.work.Add(1)

	return 0, true
}

// release gives the place back and starts the deliveries that wait for one.
func (d *Deliveries) release(l *lane, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()

	delete(l.busy, id)

	// The last place that is released is the endpoint's own, which is not shared.
	if len(l.busy) > 0 {
		d.free.giveBack(&l.held)
	}
	d.pump(l)

	if len(l.ready) == 0 && !l.nextLook.After(time.Now()) {
		d.nudge()
	}
	d.work.Done()
}

// setSlow notes whether the newest attempt of the endpoint was slow. The caller holds the lock.
func (d *Deliveries) setSlow(l *lane, slow bool) {
	if l.slow = slow; slow {
		d.free.slowDown(&l.held)
	}
}

// try makes one attempt. Its context has the values of ctx, and ends with d.attempts and not with
// ctx.
func (d *Deliveries) try(ctx context.Context, l *lane, delivery Delivery) (o outcome) {
	d.mu.Lock()
	endpoint, attempts := l.endpoint, d.attempts
	destination, err := l.open(d.cfg.Open, time.Now())
	d.mu.Unlock()

	if err != nil {
		return outcome{err: fmt.Errorf("open the destination: %w", err)}
	}

	m, err := newMessage(delivery.Notification, endpoint, delivery.Attempts)
	if err != nil {
		return outcome{err: err}
	}

	// The attempt does not end with ctx: after a stop, attempts may go on for DrainTimeout, and
	// then d.attempts ends.
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(attempts, cancel)()

	timed, end := d.cfg.Events.Attempting(timed, delivery)

	began := time.Now()
	o.err = worker.CatchPanic(func() error {
		o.answer, err = destination.Send(timed, m)
		return err
	})
	o.took = time.Since(began)
	end(o.answer, o.err)

	o.stopped = o.err != nil && attempts.Err() != nil
	// Before anything is stored or logged, because a far side may return the headers that it got.
	o.answer.Text, o.err = redact(endpoint, o.answer.Text), redactError(endpoint, o.err)

	return o
}

// after returns the delivery with the outcome of its attempt.
func (d *Deliveries) after(delivery Delivery, o outcome, now time.Time) Delivery {
	delivery.TriedAt, delivery.Answer, delivery.Response, delivery.Error = now.UTC(), o.answer.Status, o.answer.Text, ""
	delivery.NextTry = time.Time{}

	if o.err == nil {
		delivery.Status = Delivered
		return delivery
	}
	delivery.Error = o.err.Error()

	if errors.Is(o.err, ErrSkipped) {
		delivery.Status = Skipped
		return delivery
	}

	pause, again := d.cfg.Schedule.after(delivery.Attempts)
	if !again || errors.Is(o.err, ErrGone) || errors.Is(o.err, ErrRejected) {
		delivery.Status = Missed
		return delivery
	}

	delivery.Status = Pending
	// A Retry-After may lengthen a pause of the schedule, never shorten it.
	delivery.NextTry = now.Add(max(pause, pauseOf(o.err))).UTC()

	return delivery
}

// finish stores the outcome of an attempt that this worker has taken.
func (d *Deliveries) finish(ctx context.Context, l *lane, delivery *Delivery, o outcome) (stored bool) {
	d.learn(ctx, l, o)

	if o.stopped {
		return false // the delivery is due again when its lease ends
	}

	ctx, cancel := context.WithTimeout(ctx, d.cfg.storeTimeout())
	defer cancel()

	stored, err := d.records.store(ctx, delivery, d.after(*delivery, o, time.Now()))
	if err != nil {
		d.cfg.Log.Warn("the outcome of a delivery was not stored; it will be tried again", "delivery", delivery.ID(), "err", err)
	}

	if stored {
		d.attempted(*delivery, o.took)
	}

	return stored
}

// attempted reports an attempt whose outcome is stored, and plans the next attempt.
func (d *Deliveries) attempted(delivery Delivery, took time.Duration) {
	d.cfg.Events.Attempted(delivery, took)

	if delivery.Status == Pending {
		d.lookAt(delivery.Endpoint, delivery.NextTry)
	}
}

// learn updates the state of the endpoint after an attempt.
func (d *Deliveries) learn(ctx context.Context, l *lane, o outcome) {
	if o.stopped || errors.Is(o.err, ErrSkipped) || errors.Is(o.err, ErrRecipient) {
		return
	}

	now := time.Now()
	d.mu.Lock()
	id, failing := l.endpoint.ID, l.failing
	// Set before the write, so that attempts that end at the same moment do not write the same
	// change.
	l.failing = o.err != nil
	d.setSlow(l, o.took > firstTry)

	news := false
	if o.err == nil {
		l.circuit.succeeded()
	} else {
		news = l.circuit.failed(now, pauseOf(o.err))
	}
	since, circuit := l.endpoint.FailingSince, l.circuit
	d.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, d.cfg.storeTimeout())
	defer cancel()

	err := d.noteHealth(ctx, id, since, failing, o, now)
	if news {
		err = errors.Join(err, d.cfg.Endpoints.noteOpen(ctx, id, circuit))
	}

	if err != nil {
		d.cfg.Log.Warn("the state of an endpoint was not stored", "endpoint", id, "err", err)

		d.mu.Lock()
		l.failing = failing // the next attempt stores it
		d.mu.Unlock()
	}
}

// noteHealth stores the first failure after a success and the first success after a failure. It
// disables an endpoint that has failed for DisableAfter or is gone.
func (d *Deliveries) noteHealth(ctx context.Context, id string, since time.Time, failing bool, o outcome, now time.Time) (err error) {
	var (
		reason   string
		disabled bool
	)

	switch {
	case o.err == nil && failing:
		return d.cfg.Endpoints.noteSuccess(ctx, id)
	case o.err == nil:
		return nil
	// 410 means that the endpoint wants no more messages, so no schedule applies.
	case errors.Is(o.err, ErrGone):
		reason = "answered that it is gone"
		disabled, err = d.cfg.Endpoints.disableNow(ctx, id, reason, now)
	// Only the first failure is written: an endpoint that fails for days costs one write.
	case since.IsZero() && !failing:
		return d.cfg.Endpoints.noteFailure(ctx, id, now)
	case !since.IsZero() && now.Sub(since) >= d.cfg.DisableAfter:
		reason = fmt.Sprintf("failed for %s without a success", d.cfg.DisableAfter)
		// The update's condition compares the stored time: another worker may have had a success.
		disabled, err = d.cfg.Endpoints.disableFailing(ctx, id, reason, now.Add(-d.cfg.DisableAfter), now)
	}

	if disabled {
		d.cfg.Log.Warn("an endpoint was disabled; `ratchet endpoints enable` enables it", "endpoint", id, "reason", reason)
		d.cfg.Events.Disabled(id, reason)
	}

	return err
}
