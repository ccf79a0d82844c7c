package notify

import "context"

// orderRounds is how many deliveries of one order are sent in a row before other orders get the
// place.
const orderRounds = 16

// deliverInOrder sends the PENDING deliveries of the order to the endpoint, in the order of the
// transitions. It stops when a delivery is still PENDING after its attempt, or when no delivery is
// left.
//
// Only the first PENDING delivery may be tried. After the read, no earlier delivery becomes
// PENDING: deliveries are stored in the order of the transitions, and a delivery that has ended
// stays ended unless it is sent again on request.
func (d *Deliveries) deliverInOrder(ctx context.Context, l *lane, found Delivery) error {
	for range orderRounds {
		pending, err := d.pendingOf(ctx, found)
		if err != nil || len(pending) == 0 {
			return err
		}
		first := pending[0]

		// With Attempts, NextTry is the end of a running attempt or the next try, so this delivery
		// has to wait. Without Attempts, NextTry is only a time of waiting behind an earlier
		// delivery.
		if first.Attempts > 0 && first.NextTry.After(d.clock.Now()) {
			return d.waitBehind(ctx, first, pending)
		}

		ended, err := d.attempt(ctx, l, first)
		if err != nil {
			return err
		}

		if !ended {
			// Read again, because the attempt has changed the first delivery's NextTry.
			if pending, err = d.pendingOf(ctx, found); err == nil && len(pending) > 1 {
				err = d.waitBehind(ctx, pending[0], pending)
			}

			return err
		}
	}

	return nil
}

// pendingOf returns the deliveries of the same order and endpoint that are PENDING, in order.
func (d *Deliveries) pendingOf(ctx context.Context, one Delivery) (pending []Delivery, err error) {
	ctx, cancel := d.call(ctx)
	defer cancel()

	all, err := d.records.ofOrder(ctx, string(one.OrderID), one.Endpoint)
	for _, delivery := range all {
		if !delivery.ended() {
			pending = append(pending, delivery)
		}
	}

	return pending, err
}

// waitBehind postpones the deliveries that are due before the first delivery's next try, until
// blockedPause after it.
func (d *Deliveries) waitBehind(ctx context.Context, first Delivery, pending []Delivery) error {
	ctx, cancel := d.call(ctx)
	defer cancel()

	until := first.NextTry.Add(blockedPause)
	for _, delivery := range pending[1:] {
		if delivery.NextTry.After(first.NextTry) {
			continue
		}

		// Otherwise every look would find the delivery due and have to skip it.
		if _, err := d.records.postpone(ctx, &delivery, until); err != nil {
			return err
		}
	}

	return nil
}
