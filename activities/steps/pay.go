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
}

// pay takes the order's money, or holds it, and applies the transition that follows. It
// looks before it asks the bank: an order that was moved meanwhile is not charged.
func (s *Steps) pay(ctx context.Context, in payInput) (any, error) {
	order, err := s.get(ctx, in.OrderID)
	if err != nil {
		return nil, err
	}

	if err := s.cfg.Orders.CheckVersion(order); err != nil {
		return nil, err
	}

	// At or beyond the id, an earlier try has paid the order or another caller has moved it: the bank
	// is not asked.
	if s.isPayable(order.State) && order.TransitionID < in.TransitionID {
		if covered, err := s.isCovered(ctx, order); err != nil || !covered {
			return nil, cmp.Or(err, overtaken(transitions.Superseded, order))
		}

		switch err := s.take(ctx, order); {
		case errors.Is(err, payments.ErrDeclined), errors.Is(err, payments.ErrVoided):
			return nil, s.failPayment(ctx, in, err)
		case err != nil:
			return nil, err
		}
	}

	// The verdict tells a transition that this execution has made before from another's.
	result, err := s.cfg.Orders.Apply(ctx, transitions.Request{
		OrderID:      in.OrderID,
		Event:        workflow.Pay,
		TransitionID: in.TransitionID,
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

// isCovered reports whether the stock of an order is reserved as its lines are now. An order that was
// never edited is covered: accept has reserved the lines as they were placed. If the order is not
// covered, the execution goes back to accept.
func (s *Steps) isCovered(ctx context.Context, order *transitions.Order) (bool, error) {
	if err := order.Readable("items"); err != nil {
		return false, err
	}

	if order.ContentVersion == 0 {
		return true, nil
	}

	return s.cfg.Stock.Covers(ctx, order.LifeID(), linesOf(order.Items))
}

// take charges or authorizes the order's total. There is nothing to pay for a total of 0.
func (s *Steps) take(ctx context.Context, order *transitions.Order) error {
	// A total that cannot be read is not a total of 0.
	if err := order.Readable("total"); err != nil {
		return err
	}

	if order.Total.Amount == 0 {
		return nil
	}

	accounts := payments.AccountsForOrders(order.Total.Currency)
	n := payments.NewPayment{
		ID:       payments.IDForOrder(order.LifeID()),
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

	// The payment may have been opened when Capture had the other value.
	if errors.Is(err, payments.ErrConflict) {
		p, err = s.ask(ctx, n, !s.cfg.Capture)
	}

	switch {
	case errors.Is(err, payments.ErrConflict):
		return activities.Fail(nameOtherContent, fmt.Errorf("order %s costs %d %s, and its payment %s was opened with other content, perhaps before the order was edited; "+
			"cancel the order and redrive its execution to give the payment back: %w", order.ID, n.Amount, n.Currency, n.ID, err))
	case err != nil:
		return err
	// A repeat returns the payment with a step that another call has not finished.
	case p.Pending != nil:
		return fmt.Errorf("payment %s of order %s, step %s: %w", p.ID, order.ID, p.Pending.ID, payments.ErrBusy)
	// The payment was given back before the order was paid. Its repeat takes no new money.
	case p.Capturable+p.Captured-p.Refunded <= 0:
		return fmt.Errorf("payment %s of order %s is %s, nothing of it is left: %w", p.ID, order.ID, p.State, payments.ErrVoided)
	}

	return nil
}

// ask authorizes or charges the payment. A repeat returns the payment as it is: another caller may
// have given it back meanwhile.
func (s *Steps) ask(ctx context.Context, n payments.NewPayment, capture bool) (payments.Payment, error) {
	if capture {
		return s.cfg.Payments.Authorize(ctx, n)
	}

	return s.cfg.Payments.Charge(ctx, n)
}

// failPayment applies the transition that follows a declined payment, and returns the
// failure.
func (s *Steps) failPayment(ctx context.Context, in payInput, reason error) error {
	result, err := s.cfg.Orders.Apply(ctx, transitions.Request{
		OrderID:      in.OrderID,
		Event:        workflow.FailPayment,
		TransitionID: in.TransitionID,
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

// adopt returns the failure of a step whose order is elsewhere, so that the execution goes
// on from there.
func (s *Steps) adopt(ctx context.Context, v transitions.Verdict, order *transitions.Order) error {
	if err := s.endOpenParts(ctx, order); err != nil {
		return err
	}

	return overtaken(v, order)
}

// endOpenParts ends the parts that a caller who moved the order has left open. An order that an
// execution has paid has its payment and its pieces. An order that another caller has paid needs no
// payment by the execution, and its pieces may not be reserved yet.
func (s *Steps) endOpenParts(ctx context.Context, order *transitions.Order) error {
	if isUndone(order.State) || s.mayBecomePayable(order.State) {
		return nil // accept and pay come again, or compensate settles everything
	}

	if own, err := s.isPaidByExecution(ctx, order); err != nil || own {
		return err
	}

	return errors.Join(s.cancelOwnPayment(ctx, order), s.coverPaid(ctx, order))
}

// isPaidByExecution reports whether it was an execution that paid the order, and not another caller.
func (s *Steps) isPaidByExecution(ctx context.Context, order *transitions.Order) (bool, error) {
	paid, err := s.cfg.Orders.TransitionsBy(ctx, order, workflow.Pay)

	return transitions.PaidByExecution(paid), err
}

// coverPaid makes the reservation match the lines of an order that another caller has paid, until it
// ships: accept may have reserved other lines, or none. When the order ships, the stream's reaction
// does the same. Pieces that are missing are waited for: the customer has paid for them.
func (s *Steps) coverPaid(ctx context.Context, order *transitions.Order) error {
	if order.State == workflow.Shipped || !s.cfg.Orders.Definition().Reachable(order.State, workflow.Shipped) {
		return nil
	}

	err := s.cfg.Stock.Adjust(ctx, order.LifeID(), linesOf(order.Items), s.cfg.Orders.Unchanged(order))
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

	_, err := s.cfg.Payments.Cancel(ctx, payments.IDForOrder(order.LifeID()))
	if err != nil {
		// Not named PaymentDeclined, whose Catch would end an order that is paid.
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
