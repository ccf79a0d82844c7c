package notify

import (
	"context"
	"time"
)

// orderRounds bounds the deliveries of one order that are sent in one place before others get
// their turn.
const orderRounds = 16

// deliverInOrder sends the PENDING deliveries of the order to the endpoint, in the order of the
// transitions, until an attempt does not end its delivery or none is left.
//
// Only the first PENDING delivery may be tried. No earlier one can appear after this read: deliveries
// are stored in the order of the transitions, and a delivery that has ended stays ended, except by a
// redelivery on request.
func (d *Deliveries) deliverInOrder(ctx context.Context, l *lane, found Delivery) error {
	for range orderRounds {
		pending, err := d.pendingOf(ctx, found)
		if err != nil || len(pending) == 0 {
			return err
		}
		first := pending[0]

		// A delivery that was tried before is being tried, or waits for its next try. A delivery that
		// was never tried has only waited for its turn.
		if first.Attempts > 0 && first.NextTry.After(time.Now()) {
			return d.waitBehind(ctx, first, pending)
		}

		ended, err := d.attempt(ctx, l, first)
		if err != nil {
			return err
		}

		if !ended {
			// Read again: the attempt has changed the time of the first delivery's next try.
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
	all, err := d.records.ofOrder(ctx, string(one.OrderID), one.Endpoint)
	for _, delivery := range all {
		if !delivery.ended() {
			pending = append(pending, delivery)
		}
	}

	return pending, err
}

// waitBehind postpones the deliveries that are due before the first one, until after it.
func (d *Deliveries) waitBehind(ctx context.Context, first Delivery, pending []Delivery) error {
	until := first.NextTry.Add(blockedPause)
	for _, delivery := range pending[1:] {
		if delivery.NextTry.After(first.NextTry) {
			continue
		}

		// Otherwise a look would find it due again and again, only to wait behind the first one.
		if _, err := d.records.postpone(ctx, &delivery, until); err != nil {
			return err
		}
	}

	return nil
}
