package notify

import (
	"context"
	"math/rand/v2"
	"time"

	"ratchet/internal/worker"
)

// readAhead is how many deliveries a look reads for each place of an endpoint.
const readAhead = 4

// lookPause is the shortest time between two looks at the same queues.
const lookPause = 10 * time.Millisecond

// Run makes attempts until ctx ends. Then it waits for the running attempts, at most DrainTimeout,
// and cancels the attempts that still run. It closes the destinations and returns the errors of
// closing them. Any number of workers may run at once. Call Run once.
func (d *Deliveries) Run(ctx context.Context) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()

	d.mu.Lock()
	d.attempts, d.running = attempts, true
	d.mu.Unlock()

	for ctx.Err() == nil {
		d.schedule(ctx)
	}

	// Before the drain: running attempts need nothing more of a rate.
	d.goAway(ctx)

	d.mu.Lock()
	d.running = false
	d.mu.Unlock()

	done := make(chan struct{})
	go func() {
		d.work.Wait()
		close(done)
	}()

	if !worker.WaitClosed(done, d.cfg.DrainTimeout) {
		cancel()
		<-done // destinations honor their contexts, and writes have limits of their own
	}

	return d.Close()
}

// schedule starts the looks that are due, and waits until the next look is due.
func (d *Deliveries) schedule(ctx context.Context) {
	v, err := d.cfg.Endpoints.recent(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Log.Warn("the endpoints cannot be read; their deliveries wait", "err", err)
		}
		// Without the endpoints no queue can be read. Running attempts go on.
		worker.Wait(ctx, time.Second)

		return
	}

	call, cancel := d.call(ctx)
	err = d.cfg.Endpoints.claim(call, v)
	cancel()

	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("the other workers were not told which endpoints are configured", "err", err)
	}

	d.countWorkers(ctx, v, time.Now())

	timer := time.NewTimer(d.startLooks(ctx, v, d.clock.Now()))
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-d.wake:
	case <-timer.C:
	}
}

// startLooks starts the looks that are due, drops the lanes of endpoints that were removed, and
// returns the time until the next look.
func (d *Deliveries) startLooks(ctx context.Context, v view, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()

	next := now.Add(min(d.cfg.LookEvery, refreshEvery))

	for _, e := range v.all {
		if e.Status == Unreadable {
			continue
		}

		l := d.lane(e)
		d.pump(l)

		// No look before the circuit allows an attempt.
		due := l.nextLook
		if due.Before(l.circuit.until) && e.Status == Active {
			due = l.circuit.until
		}

		switch {
		case l.looking || len(l.ready) > 0:
		case due.After(now):
			next = earlier(next, due)
		default:
			l.looking = true
			d.work.Add(1)

			go d.look(ctx, l)
		}
	}

	next = d.startFormer(ctx, v.former, now, next)

	for id, l := range d.lanes {
		// A lane in use is dropped by a later call: its attempts need the destination.
		if _, present := v.byID[id]; !present && len(l.busy) == 0 && !l.looking {
			_ = l.close()
			delete(d.lanes, id)
		}
	}

	return next.Sub(now)
}

// lookAt moves the next look to at, unless the next look is earlier.
func (l *lane) lookAt(at time.Time) {
	if at.Before(l.nextLook) {
		l.nextLook = at
	}

	if l.looking {
		l.more = true // the running look may have read the queue before the delivery was stored
	}
}

// look reads the queue of an endpoint, and starts the due deliveries.
func (d *Deliveries) look(ctx context.Context, l *lane) {
	defer d.work.Done()

	d.mu.Lock()
	endpoint := l.endpoint
	// Before the queue is read, so that lookAt can set it during the read.
	l.more = false
	d.mu.Unlock()

	now := d.clock.Now()
	next := now.Add(d.cfg.LookEvery)
	limit := max(1, readAhead*endpoint.Concurrency/queueShards)

	var (
		due  []Delivery
		more bool
	)
	// In a random order, so that workers do not all begin with the same deliveries.
	for _, shard := range rand.Perm(queueShards) { //nolint:gosec // G404: the order needs no cryptographic randomness
		call, cancel := d.call(ctx)
		found, _, err := d.records.queued(call, queueName(endpoint.ID, Pending, shard), time.Time{}, nil, limit)
		cancel()

		if err != nil {
			if ctx.Err() == nil {
				d.cfg.Log.Warn("a queue of deliveries cannot be read; it will be read again", "endpoint", endpoint.ID, "err", err)
			}
			continue
		}

		for _, delivery := range found {
			if delivery.NextTry.After(now) {
				next = earlier(next, delivery.NextTry)
				break
			}
			due = append(due, delivery)
		}

		// If the whole page is due, further deliveries may be due, too.
		more = more || len(found) == limit && !found[limit-1].NextTry.After(now)
	}

	if endpoint.Status == Disabled {
		d.giveUp(ctx, due)
		due = nil
	}

	if endpoint.Rate > 0 {
		// Several workers read the same deliveries. A delivery that another worker has taken costs
		// a part of this worker's share of the rate, so each worker tries them in another order.
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] }) //nolint:gosec // G404: as above
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	if more || l.more {
		next = now.Add(lookPause)
	}
	l.ready, l.nextLook, l.looking = due, next, false
	d.pump(l)
	d.nudge()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}

	return a
}

// pump starts the deliveries that are ready, as far as there are places. The caller holds the
// lock.
func (d *Deliveries) pump(l *lane) {
	now := d.clock.Now()
	for len(l.ready) > 0 {
		next := l.ready[0]

		if l.busy[next.ID()] {
			l.ready = l.ready[1:]
			continue
		}

		wait, ok := d.acquire(l, next.ID(), now)
		if !ok {
			// The deliveries are not kept, because other workers may take them. A later look reads
			// the queue again.
			if len(l.busy) == 0 || wait > 0 {
				l.ready = nil
				l.nextLook = now.Add(max(wait, lookPause))
			}

			return
		}
		l.ready = l.ready[1:]

		go d.deliver(l, next)
	}
	l.ready = nil
}

// deliver makes the next attempt of a delivery. The caller has acquired the place, which deliver
// releases.
func (d *Deliveries) deliver(l *lane, delivery Delivery) {
	defer d.release(l, delivery.ID())

	d.mu.Lock()
	ctx := d.attempts
	d.mu.Unlock()

	if err := d.deliverNext(ctx, l, delivery); err != nil {
		d.cfg.Log.Warn("a delivery was not tried; it stays in its queue", "delivery", delivery.ID(), "err", err)
	}
}

func (d *Deliveries) deliverNext(ctx context.Context, l *lane, delivery Delivery) error {
	endpoint, reason, err := d.endpointOf(ctx, delivery)
	switch {
	case err != nil:
		return err
	case reason != "":
		return d.miss(ctx, delivery, reason)
	case endpoint.Ordered:
		return d.deliverInOrder(ctx, l, delivery)
	}

	_, err = d.attempt(ctx, l, delivery)

	return err
}

// attempt takes a delivery and tries it. It reports whether the delivery has ended.
func (d *Deliveries) attempt(ctx context.Context, l *lane, delivery Delivery) (ended bool, err error) {
	call, cancel := d.call(ctx)
	taken, err := d.records.take(call, &delivery, d.clock.Now().Add(d.cfg.lease()))
	cancel()

	if err != nil || !taken {
		return false, err
	}

	// The outcome is stored also when ctx ends during the attempt.
	ctx = context.WithoutCancel(ctx)
	stored := d.finish(ctx, l, &delivery, d.try(ctx, l, delivery))

	return stored && delivery.ended(), nil
}

// call returns the context of a call of DynamoDB: one without an answer must not keep a place.
func (d *Deliveries) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.cfg.storeTimeout())
}

// miss gives a delivery up without an attempt.
func (d *Deliveries) miss(ctx context.Context, delivery Delivery, reason string) error {
	ctx, cancel := d.call(ctx)
	defer cancel()

	_, err := d.records.store(ctx, &delivery, delivery.missed(reason))

	return err
}

// missed returns the delivery as given up for a reason.
func (d Delivery) missed(reason string) Delivery {
	d.Status, d.Error, d.NextTry = Missed, reason, time.Time{}
	return d
}

// giveUp gives up the due deliveries of a disabled endpoint.
func (d *Deliveries) giveUp(ctx context.Context, due []Delivery) {
	for _, delivery := range due {
		if err := d.miss(ctx, delivery, reasonDisabled); err != nil {
			d.cfg.Log.Warn("a delivery to a disabled endpoint was not given up", "delivery", delivery.ID(), "err", err)
			return
		}
	}
}
