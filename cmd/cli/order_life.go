package cli

import (
	"context"
	"errors"

	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// reservationOf returns the name of the reservation that the argument means: the argument itself, if a
// reservation has this name or no order has this id, or else the life of the order.
func reservationOf(ctx context.Context, b *server.Backend, arg string) (string, error) {
	if _, found, err := b.Stock.Reservation(ctx, arg); err != nil || found {
		return arg, err
	}

	return lifeOf(ctx, b, arg)
}

// paymentOf returns the id of the payment that the argument means: the argument itself, if a payment
// has this id or no order has it, or else the id of the order's payment.
func paymentOf(ctx context.Context, b *server.Backend, arg string) (string, error) {
	_, err := b.Payments.Get(ctx, arg)
	if !errors.Is(err, payments.ErrUnknownPayment) {
		return arg, err
	}

	life, err := lifeOf(ctx, b, arg)
	if err != nil || life == arg {
		return arg, err
	}

	return payments.IDForOrder(life), nil
}

// lifeOf returns the name of the present life of the order with this id, or the text as it is if there
// is no such order.
func lifeOf(ctx context.Context, b *server.Backend, id string) (string, error) {
	// A reservation or a payment of no order may have a name that no order can have.
	if transitions.OrderID(id).Validate() != nil {
		return id, nil
	}

	order, found, err := b.Orders.Get(ctx, transitions.OrderID(id))
	if err != nil || !found {
		return id, err
	}

	return order.LifeID(), nil
}
