package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"ratchet/activities"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
	"slices"
)

//go:embed workflow.yaml
var definition []byte

//go:embed statemachine.asl.json
var stateMachine []byte

// The states whose transitions have effects.
const (
	accepted workflow.State = "ACCEPTED"
	sent     workflow.State = "SENT"
	canceled workflow.State = "CANCELED"
	declined workflow.State = "DECLINED"
	sentBack workflow.State = "SENT_BACK"
	rejected workflow.State = "REJECTED"
)

// newParts returns the program's own parts: its workflow with the steps, and the reactions.
func newParts() (server.Parts, error) {
	d, err := file.Parse("workflow.yaml", definition)
	if err != nil {
		return server.Parts{}, err
	}

	return server.Parts{
		Workflow: &server.Workflow{
			Definition:   d,
			StateMachine: stateMachine,
			Steps: []server.Step{
				{Name: "reserve", Handle: reserve},
				{Name: "charge", Handle: charge},
			},
		},
		Handlers: func(b *server.Backend) []streams.Handler {
			return []streams.Handler{
				// The name is the last part of the keys of bookings, by which `orders explain` finds them.
				on(b, shipping.Effect, ship, accepted, canceled),
				on(b, "stock", endReservation, sent, canceled, declined, rejected),
				on(b, "refund", giveBack, canceled, sentBack, rejected),
			}
		},
	}, nil
}

// stepInput is the input of a step.
type stepInput struct {
	OrderID     transitions.OrderID     `json:"orderId"`
	Incarnation transitions.Incarnation `json:"incarnation"`
}

// errMoved is the failure of a step whose order was moved by another caller: the execution looks where it is.
func errMoved(err error) error { return activities.Fail("Order.WrongState", err) }

// orderOf returns the order of a task.
func orderOf(ctx context.Context, b *server.Backend, task activities.Task) (*transitions.Order, error) {
	var in stepInput
	if err := json.Unmarshal(task.Input, &in); err != nil {
		return nil, err
	}

	order, found, err := b.Orders.Get(ctx, in.OrderID)
	switch {
	case err != nil:
		return nil, err
	case !found || order.Incarnation != in.Incarnation:
		return nil, activities.Fail("Order.NotFound", fmt.Errorf("%s does not exist", in.OrderID))
	}

	return order, nil
}

// reserve is the step behind the activity "reserve". A repeat reserves nothing more. Missing pieces are an answer:
// the state machine goes on with "reject".
func reserve(b *server.Backend) activities.HandlerFunc {
	return func(ctx context.Context, task activities.Task) (any, error) {
		order, err := orderOf(ctx, b, task)
		if err != nil {
			return nil, err
		}

		var lines []inventory.Line
		for _, item := range order.Items {
			lines = append(lines, inventory.Line{SKU: item.SKU, Quantity: item.Quantity})
		}

		err = b.Stock.Reserve(ctx, order.PlacedLifeID(), lines)
		if errors.Is(err, inventory.ErrClosed) {
			return nil, errMoved(err) // canceled meanwhile
		}

		return map[string]int{"lines": len(lines)}, err
	}
}

// charge is the step behind the activity "charge". A repeat takes no more money. A refusal of the bank is an
// answer: the state machine goes on with "decline".
func charge(b *server.Backend) activities.HandlerFunc {
	return func(ctx context.Context, task activities.Task) (any, error) {
		order, err := orderOf(ctx, b, task)
		if err != nil || order.Total.Amount == 0 {
			return map[string]int64{"amount": 0}, err
		}

		id, err := b.Payments.OfOrder(ctx, order.LifeIDs())
		if err != nil {
			return nil, err
		}

		accounts := payments.AccountsForOrders(order.Total.Currency)
		n := payments.NewPayment{
			ID:       id,
			OrderID:  string(order.ID),
			Payer:    accounts.Payer,
			Payee:    accounts.Payee,
			Amount:   order.Total.Amount,
			Currency: order.Total.Currency,
		}

		p, err := b.Payments.Charge(ctx, n)
		if errors.Is(err, ledger.ErrUnknownAccount) { // the first order in this currency
			if _, err = payments.OpenOrderAccounts(ctx, b.Ledger, n.Currency); err == nil {
				p, err = b.Payments.Charge(ctx, n)
			}
		}

		switch {
		case errors.Is(err, payments.ErrVoided) || err == nil && p.Canceled:
			return nil, errMoved(fmt.Errorf("payment %s was canceled meanwhile", id))
		case err != nil:
			return nil, err
		case p.Pending != nil:
			return nil, fmt.Errorf("payment %s: %w", id, payments.ErrBusy)
		}

		return map[string]int64{"amount": p.Captured}, nil
	}
}

// on returns the reaction to the transitions that lead to one of the states. The stream delivers each transition at
// least once, and the transitions of one order in their order. An error is retried.
func on(b *server.Backend, name string, react func(context.Context, *server.Backend, transitions.Change) error, states ...workflow.State) streams.Handler {
	return streams.Handler{Name: name, Handle: func(ctx context.Context, r streams.Record) error {
		change, moved, err := b.Orders.Mapping().FromRecord(r.Old, r.New)
		switch {
		case err != nil:
			return streams.Permanent(err) // a retry reads the same record
		case !moved || !slices.Contains(states, change.New.State):
			return nil
		}

		return react(ctx, b, change)
	}}
}

// ship books the shipment of an accepted order and cancels that of a canceled one. The carrier's reports move the
// order, as the definition says.
func ship(ctx context.Context, b *server.Backend, c transitions.Change) error {
	if c.New.State == accepted {
		_, err := b.Booker.Book(ctx, c.EffectKey(shipping.Effect), string(c.New.ID))
		switch {
		case errors.Is(err, shipping.ErrCanceled):
			return nil // the order was canceled before the booking
		case errors.Is(err, shipping.ErrRefused), errors.Is(err, shipping.ErrCanceledByCarrier):
			return streams.Permanent(err) // a person has to look
		}

		return err
	}

	if c.Old == nil || c.Old.State != accepted {
		return nil // nothing was booked
	}

	// The booking has the key of the transition before this one.
	left, err := b.Booker.Cancel(ctx, c.New.EffectKey(c.Old.TransitionID, shipping.Effect))
	if err == nil && left {
		err = streams.Permanent(fmt.Errorf("%s was canceled, and its parcel had left", c.New.ID))
	}

	return err
}

// endReservation sells the pieces of an order that was sent, and gives back those of one that was not. Both close
// the reservation: one that arrives late is refused.
func endReservation(ctx context.Context, b *server.Backend, c transitions.Change) error {
	if c.New.State != sent {
		return b.Stock.Release(ctx, c.New.PlacedLifeID())
	}

	err := b.Stock.CommitAndClose(ctx, c.New.PlacedLifeID())
	if errors.Is(err, inventory.ErrClosed) {
		return streams.Permanent(err) // the pieces were given back before the parcel left: count
	}

	return err
}

// giveBack gives back all money of the order and closes its payment: a later charge takes nothing. An order that
// was sent back is refunded then.
func giveBack(ctx context.Context, b *server.Backend, c transitions.Change) error {
	id, err := b.Payments.OfOrder(ctx, c.New.LifeIDs())
	if err != nil {
		return err
	}

	if _, err = b.Payments.Cancel(ctx, id); errors.Is(err, payments.ErrDeclined) {
		return streams.Permanent(fmt.Errorf("the money of %s cannot be given back: %w", c.New.ID, err))
	}

	if err != nil || c.New.State != sentBack {
		return err
	}

	// A fixed request id: a repeat is Replayed. A refusal means that another caller has moved the order.
	_, err = b.Orders.Apply(ctx, transitions.Request{
		OrderID:     c.New.ID,
		Event:       "refund",
		RequestID:   "refund",
		Incarnation: c.New.Incarnation,
	})

	return err
}
