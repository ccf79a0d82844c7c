package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// acceptAtOnce bounds the records that a call of Accept writes at the same time.
const acceptAtOnce = 16

// blockedPause is the pause before the next look at a delivery that waits behind an earlier one of
// its order.
const blockedPause = time.Second

// Accept stores a delivery for each endpoint that wants the notification. When it returns nil, each
// of these deliveries is stored: it will be attempted, or has ended as DELIVERED, SKIPPED or
// MISSED. A repeat changes nothing.
func (d *Deliveries) Accept(ctx context.Context, n Notification) error {
	v, err := d.cfg.Endpoints.recent(ctx)
	if err != nil {
		return err
	}

	var wanting []Endpoint
	for _, e := range v.all {
		if e.wants(n) {
			wanting = append(wanting, e)
		}
	}

	before, follows := d.handed.take(n)

	if len(wanting) == 0 {
		if follows {
			d.handed.note(n, before.endpoint)
		}

		return nil
	}

	one := ""
	// For one endpoint, only its deliveries are read. For several endpoints one query of the whole
	// order is cheaper.
	if len(wanting) == 1 {
		one = wanting[0].ID
	}

	// What an ordered endpoint has taken may be sent again on request, by any process, and then comes first.
	ordered := slices.ContainsFunc(wanting, func(e Endpoint) bool { return e.Ordered })

	var known []Delivery
	if follows && !ordered && (before.endpoint == "" || before.endpoint == one) {
		one = before.endpoint
	} else if known, err = d.records.ofOrder(ctx, string(n.OrderID), one); err != nil {
		return err
	}

	taken, err := d.acceptUnlessStored(ctx, n, wanting, known)
	if err == nil && taken {
		d.handed.note(n, one)
	}

	return err
}

// acceptUnlessStored stores the deliveries that are not among the known ones of the order. It reports whether
// all deliveries of the order up to this one were taken, as far as they are known.
func (d *Deliveries) acceptUnlessStored(ctx context.Context, n Notification, wanting []Endpoint, known []Delivery) (taken bool, err error) {
	stored := map[string]bool{}  // endpoints that have this notification
	pending := map[string]bool{} // endpoints where an earlier one is PENDING
	taken = true

	for _, k := range known {
		age := cmp.Or(cmp.Compare(k.Incarnation, n.Incarnation), cmp.Compare(k.TransitionID, n.TransitionID))
		// With a later one, the record of the stream comes again: those after it are stored, too.
		taken = taken && k.taken() && age <= 0

		switch {
		case k.TransitionID == n.TransitionID && k.Key == n.Key:
			stored[k.Endpoint] = true
		// Earlier by the order's life, and by its transition: a replay or another group has the same
		// transition and is not held up.
		case age < 0 && !k.ended():
			pending[k.Endpoint] = true
		}
	}

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(acceptAtOnce)

	var others atomic.Bool // one was not taken yet
	for _, e := range wanting {
		if stored[e.ID] {
			continue
		}

		group.Go(func() error {
			ended, err := d.accept(ctx, n, e, e.Ordered && pending[e.ID])
			if !ended {
				others.Store(true)
			}

			return err
		})
	}
	err = group.Wait()

	return taken && !others.Load(), err
}

// taken reports whether the endpoint has the delivery, or is to have none.
func (d Delivery) taken() bool { return d.Status == Delivered || d.Status == Skipped }

// accept stores the delivery of a notification for one endpoint. If the endpoint has a free place,
// accept makes the first attempt. It reports whether this attempt has stored the delivery as taken.
func (d *Deliveries) accept(ctx context.Context, n Notification, e Endpoint, blocked bool) (taken bool, err error) {
	now := d.clock.Now()
	delivery := Delivery{Notification: n, Endpoint: e.ID, Status: Pending, NextTry: now, generation: e.generation}

	if e.Status == Disabled {
		// Recorded all the same, so that a person can send it after the endpoint is enabled.
		delivery.Status, delivery.Error = Missed, reasonDisabled
		_, err := d.records.create(ctx, &delivery)

		return false, err
	}

	// Only stored: the first attempt comes when the earlier delivery has ended.
	if blocked {
		return false, d.enqueue(ctx, delivery, now.Add(blockedPause))
	}

	d.mu.Lock()
	l := d.lane(e)
	_, acquired := d.acquire(l, delivery.ID(), now)
	slow := l.slow
	d.mu.Unlock()

	switch {
	case !acquired:
		return false, d.enqueue(ctx, delivery, now)
	// The stream must not wait for a slow endpoint, so the record comes first, at the cost of a
	// second write.
	case slow:
		return false, d.storeThenTry(ctx, l, delivery)
	}

	return d.tryThenStore(ctx, l, delivery)
}

// reasonDisabled is the error of a delivery that a disabled endpoint misses.
const reasonDisabled = "the endpoint is disabled"

// enqueue stores a delivery whose first attempt is due at due.
func (d *Deliveries) enqueue(ctx context.Context, delivery Delivery, due time.Time) error {
	delivery.NextTry = due
	if _, err := d.records.create(ctx, &delivery); err != nil {
		return err
	}
	d.lookAt(delivery.Endpoint, due)

	return nil
}

// lookAt makes Run read the queue of the endpoint no later than at.
func (d *Deliveries) lookAt(endpoint string, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if l := d.lanes[endpoint]; l != nil {
		l.lookAt(at)
	}
	d.nudge()
}

// storeThenTry stores the delivery as taken by this worker, and then makes the first attempt.
func (d *Deliveries) storeThenTry(ctx context.Context, l *lane, delivery Delivery) error {
	// The delivery is due when the lease ends: if this worker dies, another worker repeats the
	// attempt then.
	delivery.Attempts, delivery.NextTry = 1, d.clock.Now().Add(d.cfg.lease())

	created, err := d.records.create(ctx, &delivery)
	// Not created: another worker has the record, and makes its attempts.
	if err != nil || !created {
		d.release(l, delivery.ID())
		return err
	}

	go func() {
		defer d.release(l, delivery.ID())

		d.finish(context.WithoutCancel(ctx), l, &delivery, d.try(ctx, l, delivery))
	}()

	return nil
}

// tryThenStore makes the first attempt, and stores the delivery with the outcome. If the attempt
// takes longer than firstTry, the delivery is stored before its outcome is known.
func (d *Deliveries) tryThenStore(ctx context.Context, l *lane, delivery Delivery) (taken bool, err error) {
	delivery.Attempts = 1
	ended := make(chan outcome, 1)

	// A copy: delivery changes below, and the attempt may begin late.
	go func(first Delivery) { ended <- d.try(ctx, l, first) }(delivery)

	timer := time.NewTimer(firstTry)
	defer timer.Stop()

	select {
	case o := <-ended:
		defer d.release(l, delivery.ID())

		return d.storeFirst(ctx, l, delivery, o)
	case <-timer.C:
	}

	d.mu.Lock()
	// Set before the attempt ends, so that the next delivery to this endpoint does not wait for
	// firstTry, too.
	d.setSlow(l, true)
	d.mu.Unlock()

	delivery.NextTry = d.clock.Now().Add(d.cfg.lease())
	created, err := d.records.create(ctx, &delivery)

	go func() {
		defer d.release(l, delivery.ID())

		// If this worker has not stored the record, the outcome is dropped: another attempt
		// follows, from the stream's next try or from the worker that has stored the record.
		if o := <-ended; created {
			d.finish(context.WithoutCancel(ctx), l, &delivery, o)
		}
	}()

	return false, err
}

// storeFirst stores a delivery whose first attempt has ended. It reports whether it has stored it as taken.
func (d *Deliveries) storeFirst(ctx context.Context, l *lane, delivery Delivery, o outcome) (taken bool, err error) {
	if o.void {
		return false, errStopped // the stream hands the notification over again
	}

	delivery = d.after(delivery, o, d.clock.Now())

	created, err := d.records.create(ctx, &delivery)
	// Also if the write has failed: the attempt has shown the state of the endpoint.
	d.learn(context.WithoutCancel(ctx), l, o)

	if err != nil {
		return false, err
	}

	if created && o.reason == "" {
		d.attempted(delivery, o.took)
	}

	return created && delivery.taken(), nil
}

var errStopped = errors.New("the worker stopped, or could not read the endpoints, during the first attempt")
