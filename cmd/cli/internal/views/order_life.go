package views

import (
	"context"
	"errors"
	"fmt"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// ReservationOf returns the name of the reservation that the argument means: the argument itself, if a
// reservation has this name or no order has this id, or else the order's.
func ReservationOf(ctx context.Context, b *server.Backend, arg string) (string, error) {
	if _, found, err := b.Stock.Reservation(ctx, arg); err != nil || found {
		return arg, err
	}

	order, found, err := orderNamed(ctx, b, arg)
	if err != nil || !found {
		return arg, err
	}

	return order.PlacedLifeID(), nil
}

// PaymentOf returns the id of the payment that the argument means: the argument itself, if a payment
// has this id or no order has it, or else the id of the order's payment. An order that was paid elsewhere has none, which
// is no error of the caller: it is said in words.
func PaymentOf(ctx context.Context, b *server.Backend, arg string) (string, error) {
	_, err := b.Payments.Get(ctx, arg)
	if !errors.Is(err, payments.ErrUnknownPayment) {
		return arg, err
	}

	order, found, err := orderNamed(ctx, b, arg)
	if err != nil || !found {
		return arg, err
	}

	elsewhere, err := b.PaidElsewhere(ctx, order)
	if err != nil {
		return "", err
	}

	if elsewhere {
		return "", exit.With(exit.Refused, fmt.Errorf("order %s was paid elsewhere: there is no payment here, and its money is given back where it was paid", order.ID))
	}

	return b.Payments.OfOrder(ctx, order.LifeIDs())
}

// orderNamed returns the order with the id, if there is one.
func orderNamed(ctx context.Context, b *server.Backend, id string) (*transitions.Order, bool, error) {
	// A reservation or a payment of no order may have a name that no order can have.
	if transitions.OrderID(id).Validate() != nil {
		return nil, false, nil
	}

	return b.Orders.Get(ctx, transitions.OrderID(id))
}
