package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/activities"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// undoneStates are the states in which an order may keep nothing: no shipment, no money and no
// reserved stock.
var undoneStates = []workflow.State{workflow.Cancelled, workflow.Expired, workflow.PaymentFailed, workflow.ChargedBack}

func isUndone(state workflow.State) bool { return slices.Contains(undoneStates, state) }

// compensation says what compensate has done.
type compensation struct {
	transitions.Position

	// Shipments is how many bookings were closed. Left is how many of these had left before.
	Shipments int `json:"shipments"`
	Left      int `json:"left"`
	// Payment is the state of the payment, and VOIDED if there was no payment. It is empty for an order
	// that costs nothing, and for an order whose money the bank took back.
	Payment workflow.State `json:"payment"`
	// Stock is "released" or "committed".
	Stock string `json:"stock"`
}

type orderInput struct {
	OrderID     transitions.OrderID     `json:"orderId"`
	Incarnation transitions.Incarnation `json:"incarnation,omitempty"`
}

// compensate undoes the effects of an order that has ended in an undone state: its shipments, its
// payment and its reservation, each under its own key. The payment is returned even if the shipments
// cannot be canceled. The stock is given back only after the shipments are canceled, so that no parcel
// can leave any more. The error names the effects that remain.
func (s *Steps) compensate(ctx context.Context, in orderInput) (any, error) {
	order, err := s.get(ctx, in.OrderID, in.Incarnation)
	if err != nil {
		return nil, err
	}

	if !isUndone(order.State) {
		return nil, overtaken(transitions.WrongState, order)
	}

	done := compensation{Position: order.Position()}

	booked, shipErr := s.cancelShipments(ctx, order)
	done.Shipments, done.Left = booked.closed, booked.left

	stockErr := errors.New("stock: waits until the shipments are canceled")
	if shipErr == nil {
		done.Stock, stockErr = s.endReservation(ctx, order, booked.left > 0 || hasLeft(order))
	}

	// The money does not wait for the carrier: a customer gets it back even while a shipment cannot
	// be canceled.
	payErr := s.returnPayment(ctx, order, &done)
	if remains := errors.Join(shipErr, payErr, stockErr); remains != nil {
		remains = fmt.Errorf("order %s is %s, and this is not undone: %w", order.ID, order.State, remains)
		// The long pause is used only if nothing but a declined refund remains. An outage of the carrier
		// is tried again sooner.
		return nil, incomplete(remains, shipErr == nil && stockErr == nil && errors.Is(payErr, payments.ErrDeclined))
	}

	return done, nil
}

// shipments counts the bookings of an order that were closed.
type shipments struct{ closed, left int }

// cancelShipments cancels every shipment that the order can have: one for each time that the order was
// paid. It tries all shipments and returns every error.
func (s *Steps) cancelShipments(ctx context.Context, order *transitions.Order) (all shipments, err error) {
	paid, err := s.cfg.Orders.TransitionsBy(ctx, order, workflow.Pay)
	if err != nil {
		return all, fmt.Errorf("shipments: %w", err)
	}

	var faults []error
	for _, t := range paid {
		key := order.EffectKey(t.ID, shipping.Effect)

		left, err := s.cfg.Booker.Cancel(ctx, key)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("shipment %s: %w", key, err))
		case left:
			// A shipment that had left counts in both numbers.
			all.left++
			fallthrough
		default:
			all.closed++
		}
	}

	return all, errors.Join(faults...)
}

// hasLeft reports whether a parcel of the order was reported as shipped, by the carrier or by another
// caller. It reads the order's ring, which still has the transition to the order's end, because only
// migrations follow that.
func hasLeft(order *transitions.Order) bool {
	return slices.ContainsFunc(order.Recent(), func(t transitions.Transition) bool {
		return t.From == workflow.PartiallyShipped || slices.Contains(shippedStates, t.From)
	})
}

// endReservation commits the reservation if a parcel has left, and else releases it. A reservation
// that has already ended stays as it is.
func (s *Steps) endReservation(ctx context.Context, order *transitions.Order, left bool) (string, error) {
	end, other, verb := s.cfg.Stock.Release, "committed", "released"
	if left {
		end = func(ctx context.Context, life string) error { return s.cfg.Stock.CommitAndClose(ctx, life) }
		other, verb = "released", "committed"
	}

	switch err := end(ctx, order.PlacedLifeID()); {
	case err == nil:
		return verb, nil
	case errors.Is(err, inventory.ErrClosed):
		return other, nil
	default:
		return "", fmt.Errorf("stock: %w", err)
	}
}

// returnPayment gives the order's money back and closes its payment.
func (s *Steps) returnPayment(ctx context.Context, order *transitions.Order, done *compensation) error {
	if err := order.Readable("total"); err != nil {
		return fmt.Errorf("payment: %w", err)
	}

	switch {
	case order.Total.Amount == 0:
		return nil
	case order.State == workflow.ChargedBack:
		return s.endChargeback(ctx, order)
	}

	p, err := s.cancelPayment(ctx, order)
	done.Payment = p.State

	if err != nil {
		return fmt.Errorf("payment: %w", err)
	}

	return nil
}

// cancelPayment closes the order's payment and gives the money back.
func (s *Steps) cancelPayment(ctx context.Context, order *transitions.Order) (payments.Payment, error) {
	id, err := s.cfg.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return payments.Payment{}, err
	}

	return s.cfg.Payments.Cancel(ctx, id)
}

// endChargeback refunds nothing for an order whose money the bank has taken back. If the order was paid
// by another caller, the execution's own payment came too late, and endChargeback gives it back. If the
// execution's payment paid the order, endChargeback releases what is still held of it.
func (s *Steps) endChargeback(ctx context.Context, order *transitions.Order) error {
	own, err := s.isPaidByExecution(ctx, order)
	if err == nil && !own {
		err = s.cancelOwnPayment(ctx, order)
	}

	if err != nil {
		return err
	}

	id, err := s.cfg.Payments.OfOrder(ctx, order.LifeIDs())
	if err == nil {
		_, err = s.cfg.Payments.Void(ctx, id)
	}

	if err == nil || errors.Is(err, payments.ErrUnknownPayment) || errors.Is(err, payments.ErrState) {
		return nil // voided, paid elsewhere, or nothing is held any more
	}

	return fmt.Errorf("payment: %w", err)
}

// declinedRefundPause is how long the state machine waits before it asks again for a refund that the
// bank has declined. It is long, because each try is a step of the payment, and a payment can have only
// about a hundred of these steps.
const declinedRefundPause = time.Hour

// incomplete returns the failure of a compensation. The state machine retries the task like in an
// outage, or after a longer pause if only a declined refund remains.
func incomplete(remains error, declined bool) error {
	if declined {
		return activities.RetryAfter(declinedRefundPause, remains)
	}

	return activities.Fail(nameIncomplete, remains)
}
