package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/activities"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/transitions"
	"ratchet/workflow"
)

type payInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	// TransitionID is the id of the transition that follows the payment.
	TransitionID transitions.TransitionID `json:"transitionId"`
	Incarnation  transitions.Incarnation  `json:"incarnation,omitempty"`
}

// pay takes the order's money, or holds it, and applies the transition that follows. It reads the order
// before it asks the bank, so an order that has moved before that is not charged.
func (s *Steps) pay(ctx context.Context, in payInput) (any, error) {
	order, err := s.get(ctx, in.OrderID, in.Incarnation)
	if err != nil {
		return nil, err
	}

	if err := s.cfg.Orders.CheckVersion(order); err != nil {
		return nil, err
	}

	// If the order is at the transition or beyond it, an earlier try has paid the order, or another
	// caller has moved it. Then the bank is not asked.
	if s.isPayable(order.State) && order.TransitionID < in.TransitionID {
		if covered, err := s.isCovered(ctx, order); err != nil || !covered {
			return nil, cmp.Or(err, overtaken(transitions.Superseded, order))
		}

		switch err := s.take(ctx, order); {
		case errors.Is(err, payments.ErrDeclined), errors.Is(err, payments.ErrVoided):
			return nil, s.failPayment(ctx, in, order.Incarnation, err)
		case err != nil:
			return nil, err
		}
	}

	// The verdict says whether an earlier try of this execution made the transition (Replayed), or another
	// caller did.
	result, err := applyInLife(ctx, s.cfg.Orders, transitions.Request{
		OrderID:      in.OrderID,
		Event:        workflow.Pay,
		TransitionID: in.TransitionID,
		Incarnation:  order.Incarnation, // the life that was charged
		RequestID:    transitions.PaidRequest,
		IfContent:    &order.ContentVersion, // the total that was charged
		Cause:        causeOf(in.OrderID, "", ""),
	})
	switch {
	case err != nil:
		return nil, err
	case result.Verdict.Done():
		return position(result), nil
	case result.Order == nil:
		return nil, overtaken(result.Verdict, nil)
	}

	return nil, s.adopt(ctx, result.Verdict, result.Order)
}

// isCovered reports whether the reservation has the pieces of the order's present lines. An order that
// was never edited is covered, because accept has reserved its lines. If the order is not covered, the
// execution goes back to accept.
func (s *Steps) isCovered(ctx context.Context, order *transitions.Order) (bool, error) {
	if err := order.Readable("items"); err != nil {
		return false, err
	}

	if order.ContentVersion == 0 {
		return true, nil
	}

	return s.cfg.Stock.Covers(ctx, order.PlacedLifeID(), linesOf(order.Items))
}

// take charges or authorizes the order's total. For a total of 0 it does nothing.
func (s *Steps) take(ctx context.Context, order *transitions.Order) error {
	// A total that cannot be read is not a total of 0.
	if err := order.Readable("total"); err != nil {
		return err
	}

	if order.Total.Amount == 0 {
		return nil
	}

	id, err := s.cfg.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return err
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

	p, err := s.ask(ctx, n, s.cfg.Capture)
	if errors.Is(err, ledger.ErrUnknownAccount) {
		// The first order in this currency.
		if _, err := payments.OpenOrderAccounts(ctx, s.cfg.Ledger, n.Currency); err != nil {
			return err
		}

		p, err = s.ask(ctx, n, s.cfg.Capture)
	}

	// An earlier process may have opened the payment with the other value of Capture.
	if errors.Is(err, payments.ErrConflict) {
		p, err = s.ask(ctx, n, !s.cfg.Capture)
	}

	switch {
	case errors.Is(err, payments.ErrConflict):
		return activities.Fail(nameOtherContent, fmt.Errorf("order %s costs %d %s, and its payment %s was opened with other content, perhaps before the order was edited; "+
			"cancel the order and redrive its execution to give the payment back: %w", order.ID, n.Amount, n.Currency, n.ID, err))
	case err != nil:
		return err
	// The payment existed, and another call is making a step of it.
	case p.Pending != nil:
		return fmt.Errorf("payment %s of order %s, step %s: %w", p.ID, order.ID, p.Pending.ID, payments.ErrBusy)
	// The payment existed, and its money was given back before the order was paid. The repeat has taken
	// no new money.
	case p.Capturable+p.Captured-p.Refunded <= 0:
		return fmt.Errorf("payment %s of order %s is %s, nothing of it is left: %w", p.ID, order.ID, p.State, payments.ErrVoided)
	}

	return nil
}

// ask authorizes or charges the payment. A repeat returns the payment as it is now, and another caller
// may have given its money back.
func (s *Steps) ask(ctx context.Context, n payments.NewPayment, capture bool) (payments.Payment, error) {
	if capture {
		return s.cfg.Payments.Authorize(ctx, n)
	}

	return s.cfg.Payments.Charge(ctx, n)
}

// failPayment applies the transition that follows a declined payment of the order's life, and returns the
// failure.
func (s *Steps) failPayment(ctx context.Context, in payInput, life transitions.Incarnation, reason error) error {
	result, err := applyInLife(ctx, s.cfg.Orders, transitions.Request{
		OrderID:      in.OrderID,
		Event:        workflow.FailPayment,
		TransitionID: in.TransitionID,
		Incarnation:  life,
		RequestID:    transitions.DeclinedRequest,
		Cause:        notPaid(in.OrderID, reason),
	})
	switch {
	case err != nil:
		return err
	case result.Verdict.Done():
		return activities.Fail(namePaymentDeclined, reason)
	case result.Order == nil:
		return overtaken(result.Verdict, nil)
	}

	return s.adopt(ctx, result.Verdict, result.Order)
}

// adopt returns the failure of a step whose order another caller has moved, so that the execution goes
// on from the order's position.
func (s *Steps) adopt(ctx context.Context, v transitions.Verdict, order *transitions.Order) error {
	if err := s.endOpenParts(ctx, order); err != nil {
		return err
	}

	return overtaken(v, order)
}

// endOpenParts does what another caller who moved the order has left open. If an execution has paid the
// order, its payment and its reservation are right. If another caller has paid it, the execution's
// payment must be canceled, and the pieces may have to be reserved.
func (s *Steps) endOpenParts(ctx context.Context, order *transitions.Order) error {
	if isUndone(order.State) || s.mayBecomePayable(order.State) {
		return nil // accept and pay run again, or compensate undoes everything
	}

	if own, err := s.isPaidByExecution(ctx, order); err != nil || own {
		return err
	}

	return errors.Join(s.cancelOwnPayment(ctx, order), s.coverPaid(ctx, order))
}

// isPaidByExecution reports whether an execution has paid the order, and not another caller.
func (s *Steps) isPaidByExecution(ctx context.Context, order *transitions.Order) (bool, error) {
	paid, err := s.cfg.Orders.TransitionsBy(ctx, order, workflow.Pay)

	return transitions.PaidByExecution(paid), err
}

// coverPaid makes the reservation match the lines of an order that another caller has paid: accept may
// have reserved other lines, or none. For an order that has shipped it does nothing, because the
// stream's reaction does the same then. If pieces are missing, the state machine waits for them: the
// customer has paid for them.
func (s *Steps) coverPaid(ctx context.Context, order *transitions.Order) error {
	if order.State == workflow.Shipped || !s.cfg.Orders.Definition().Reachable(order.State, workflow.Shipped) {
		return nil
	}

	err := s.cfg.Stock.Adjust(ctx, order.PlacedLifeID(), linesOf(order.Items), s.cfg.Orders.Unchanged(order))
	switch {
	case errors.Is(err, inventory.ErrClosed):
		return nil // the pieces have left
	case errors.Is(err, inventory.ErrOutOfStock):
		return activities.Fail(nameUnavailable, fmt.Errorf("order %s was paid by another caller, and its pieces are not reserved: %w", order.ID, err))
	}

	return err
}

// cancelOwnPayment cancels the execution's payment of an order that it has not paid.
func (s *Steps) cancelOwnPayment(ctx context.Context, order *transitions.Order) error {
	if err := order.Readable("total"); err != nil {
		return err
	}

	if order.Total.Amount == 0 {
		return nil
	}

	_, err := s.cancelPayment(ctx, order)
	if err != nil {
		// The name must not be PaymentDeclined: its Catch would end an order that is paid.
		err = fmt.Errorf("order %s was paid by another caller, and its own payment is not given back: %w", order.ID, err)
		return incomplete(err, errors.Is(err, payments.ErrDeclined))
	}

	return nil
}

// isPayable reports whether an order in the state can be paid.
func (s *Steps) isPayable(state workflow.State) bool {
	return len(s.cfg.Orders.Definition().Choices(state, workflow.Pay)) > 0
}

// mayBecomePayable reports whether an order in the state can be paid, now or later.
func (s *Steps) mayBecomePayable(state workflow.State) bool {
	d := s.cfg.Orders.Definition()

	return slices.ContainsFunc(d.Sources(workflow.Pay), func(from workflow.State) bool {
		return state == from || d.Reachable(state, from)
	})
}
