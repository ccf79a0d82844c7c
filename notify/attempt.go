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
	// endpoint is what the attempt was made to.
	endpoint Endpoint
	// void says that the attempt failed because the worker stops, or that it was not made because the
	// endpoints could not be read. Such an attempt does not count.
	void bool
	// reason says why no attempt was made, and that the delivery ends as MISSED.
	reason string
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
	tenant := tenantOf(l.endpoint.ID)
	if shared && (!d.free.has(l.slow) || d.shared[tenant] >= tenantPlaces(tenant, d.cfg.places)) {
		return 0, false
	}

	// Asked last: what the rate allows is used up by asking.
	if wait, ok := l.allow(now); !ok {
		return wait, false
	}

	if shared {
		d.free.take(&l.held, l.slow)
		d.shared[tenant]++
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

		tenant := tenantOf(l.endpoint.ID)
		if d.shared[tenant]--; d.shared[tenant] == 0 {
			delete(d.shared, tenant)
		}
	}
	d.pump(l)

	if len(l.ready) == 0 && !l.nextLook.After(d.clock.Now()) {
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

// try makes one attempt, to the endpoint as it is now. Its context has the values of ctx, and ends with
// d.attempts and not with ctx.
func (d *Deliveries) try(ctx context.Context, l *lane, delivery Delivery) (o outcome) {
	d.mu.Lock()
	attempts := d.attempts
	d.mu.Unlock()

	// The attempt does not end with ctx: after a stop, attempts may go on for DrainTimeout, and
	// then d.attempts ends.
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(attempts, cancel)()

	endpoint, reason, err := d.endpointOf(timed, delivery)
	if err != nil || reason != "" {
		return outcome{err: err, void: err != nil, reason: reason}
	}
	o.endpoint = endpoint

	d.mu.Lock()
	if l.endpoint.version() != endpoint.version() {
		l.use(endpoint, d.workers, d.clock.Now())
	}
	destination, err := l.open(endpoint, d.cfg.Open, d.clock.Now())
	d.mu.Unlock()

	if err != nil {
		o.err = fmt.Errorf("open the destination: %w", err)
		return o
	}

	m, err := newMessage(delivery.Notification, endpoint, delivery.Attempts)
	if err != nil {
		o.err = err
		return o
	}

	timed, end := d.cfg.Events.Attempting(timed, delivery)

	began := time.Now()
	o.err = worker.CatchPanic(func() error {
		o.answer, err = destination.Send(timed, m)
		return err
	})
	o.took = time.Since(began)
	end(o.answer, o.err)

	o.void = o.err != nil && attempts.Err() != nil
	// Before anything is stored or logged, because a far side may return the headers that it got.
	o.answer.Text, o.err = redact(endpoint, o.answer.Text), redactError(endpoint, o.err)

	return o
}

// endpointOf returns the endpoint that the delivery is for, as it was at most refreshEvery ago, or why
// nothing may be sent to it.
func (d *Deliveries) endpointOf(ctx context.Context, delivery Delivery) (e Endpoint, reason string, err error) {
	e, found, err := d.cfg.Endpoints.present(ctx, delivery.Endpoint)
	switch {
	case err != nil:
		return e, "", err
	case !found:
		reason = reasonRemoved
	case e.Status == Unreadable:
		return e, "", errors.New(e.Reason)
	// It may be another receiver than the endpoint that had this id before.
	case !e.owns(delivery):
		reason = reasonReplaced
	case e.Status == Disabled:
		reason = reasonDisabled
	}

	return e, reason, nil
}

// after returns the delivery with the outcome of its attempt.
func (d *Deliveries) after(delivery Delivery, o outcome, now time.Time) Delivery {
	if o.reason != "" {
		delivery.Attempts--
		return delivery.missed(o.reason)
	}
	// Another one than in the record if the endpoint was created again: see Endpoint.owns.
	delivery.generation = o.endpoint.generation
	delivery.noteTry(o, now)

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

	if o.void {
		return false // the delivery is due again when its lease ends
	}

	ctx, cancel := context.WithTimeout(ctx, d.cfg.storeTimeout())
	defer cancel()

	stored, err := d.records.storeAttempt(ctx, delivery, func(delivery Delivery, erased bool) Delivery {
		if erased {
			o = o.withoutTexts()
		}

		return d.after(delivery, o, d.clock.Now())
	})
	if err != nil {
		d.cfg.Log.Warn("the outcome of a delivery was not stored; it will be tried again", "delivery", delivery.ID(), "err", err)
	}

	if stored && o.reason == "" {
		d.attempted(*delivery, o.took)
	}

	return stored
}

// withoutTexts returns the outcome without what the far side has said, which may name a person.
func (o outcome) withoutTexts() outcome {
	o.answer.Text = ""
	if o.err != nil {
		o.err = &redactedError{err: o.err}
	}

	return o
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
	if o.void || o.reason != "" || errors.Is(o.err, ErrSkipped) || errors.Is(o.err, ErrRecipient) {
		return
	}

	now := d.clock.Now()
	d.mu.Lock()
	e := l.endpoint
	// The attempt was made to what the endpoint was before a change.
	if e.version() != o.endpoint.version() {
		d.mu.Unlock()
		return
	}

	failing := l.failing
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
	circuit := l.circuit
	d.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, d.cfg.storeTimeout())
	defer cancel()

	err := d.noteHealth(ctx, e, failing, o, now)
	if news {
		err = errors.Join(err, d.cfg.Endpoints.noteOpen(ctx, e, circuit))
	}

	if err != nil {
		d.cfg.Log.Warn("the state of an endpoint was not stored", "endpoint", e.ID, "err", err)

		d.mu.Lock()
		l.failing = failing // the next attempt stores it
		d.mu.Unlock()
	}
}

// noteHealth stores the first failure after a success, now and then a later one, and the first success
// after a failure. It disables an endpoint that has failed for DisableAfter or is gone.
func (d *Deliveries) noteHealth(ctx context.Context, e Endpoint, failing bool, o outcome, now time.Time) (err error) {
	var (
		reason   string
		disabled bool
	)

	switch {
	case o.err == nil && failing:
		return d.cfg.Endpoints.noteSuccess(ctx, e)
	case o.err == nil:
		return nil
	// 410 means that the endpoint wants no more messages, so no schedule applies.
	case errors.Is(o.err, ErrGone):
		reason = "answered that it is gone"
		disabled, err = d.cfg.Endpoints.disableNow(ctx, e, reason, now)
	// This worker has stored the first failure, and not read it yet.
	case e.FailingSince.IsZero() && failing:
		return nil
	default:
		reason = fmt.Sprintf("failed for %s without a success", d.cfg.DisableAfter)
		if next, write := e.failing(now, d.cfg.DisableAfter, d.cfg.silence()); write {
			disabled, err = d.cfg.Endpoints.noteFailure(ctx, e, next, d.cfg.DisableAfter, reason)
		}
	}

	if disabled {
		d.cfg.Log.Warn("an endpoint was disabled; `ratchet endpoints enable` enables it", "endpoint", e.ID, "reason", reason)
		d.cfg.Events.Disabled(e.ID, reason)
	}

	return err
}
