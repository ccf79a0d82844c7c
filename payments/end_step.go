package payments

import (
	"context"
	"errors"
	"fmt"

	"ratchet/once/ledger"
	"ratchet/workflow"
)

func (s *Payments) endAuthorize(ctx context.Context, next Payment, said answer, parts []ledger.TxPart) (Payment, error) {
	if !said.succeeded {
		return s.applyAndRelease(ctx, next, "fail", parts)
	}

	return s.applyAndSave(ctx, next, "authorize", parts)
}

// endCharge ends a charge. A charge that succeeded brings the payment through the states of an
// authorization and a capture.
func (s *Payments) endCharge(ctx context.Context, next Payment, step Step, said answer, parts []ledger.TxPart) (Payment, error) {
	if !said.succeeded {
		return s.applyAndRelease(ctx, next, "fail", parts)
	}

	// A charge from an account with overdraft has no hold, see planHold.
	held := next.Capturable > 0
	next.Captured, next.Capturable = step.Amount, 0

	for _, event := range []workflow.Event{"authorize", "capture", "settle"} {
		var err error
		if next, err = next.apply(event); err != nil {
			return next, err
		}
	}

	t := ledger.Move(next.key(step.ID), next.Payer, next.Payee, step.Amount, next.Currency)
	if held {
		t.Legs[0].Hold, t.Legs[0].Release = next.ID, true
	}

	return s.post(ctx, next, t, Charging, parts)
}

func (s *Payments) endCapture(ctx context.Context, next Payment, step Step, said answer, parts []ledger.TxPart) (Payment, error) {
	switch {
	case !said.succeeded && next.Captured == 0:
		return s.applyAndRelease(ctx, next, "fail", parts)
	case !said.succeeded:
		return s.applyAndSave(ctx, next, "fail", parts)
	}

	next.Captured += step.Amount
	next.Capturable -= step.Amount
	if step.Final {
		next.Capturable = 0
	}

	next, err := next.apply("settle")
	if err != nil {
		return next, err
	}

	t := ledger.Move(next.key(step.ID), next.Payer, next.Payee, step.Amount, next.Currency)
	t.Legs[0].Hold = next.ID
	// The last capture ends the hold. Each earlier one takes only its own amount from it.
	t.Legs[0].Release = next.Capturable == 0

	return s.post(ctx, next, t, Capturing, parts)
}

func (s *Payments) endRefund(ctx context.Context, next Payment, step Step, said answer, parts []ledger.TxPart) (Payment, error) {
	key := next.key(step.ID)
	if !said.succeeded {
		next, err := next.apply("fail_refund")
		if err != nil {
			return next, err
		}

		_, err = s.ledger.Release(ctx, next.Payee, key, s.txPart(next, parts))

		return s.resolveLedger(ctx, next, err)
	}

	next.Refunded += step.Amount
	next, err := next.apply("refund")
	if err != nil {
		return next, err
	}

	t := ledger.Move(key, next.Payee, next.Payer, step.Amount, next.Currency)
	t.Legs[0].Hold, t.Legs[0].Release = key, true

	return s.post(ctx, next, t, Refunding, parts)
}

// endVoid ends a void or an expiry.
func (s *Payments) endVoid(ctx context.Context, next Payment, step Step, parts []ledger.TxPart) (Payment, error) {
	// After a capture the step releases the rest and does not change the state.
	if next.Captured > 0 {
		next.Capturable = 0
		return s.release(ctx, next, parts)
	}

	if step.Kind == expiring {
		return s.applyAndRelease(ctx, next, "expire", parts)
	}

	return s.applyAndRelease(ctx, next, "void", parts)
}

// applyAndSave applies the event and saves the payment. The ledger stays as it is.
func (s *Payments) applyAndSave(ctx context.Context, next Payment, event workflow.Event, parts []ledger.TxPart) (Payment, error) {
	next, err := next.apply(event)
	if err != nil {
		return next, err
	}

	return s.save(ctx, next, parts...)
}

// applyAndRelease applies the event and releases the hold on the payer's account.
func (s *Payments) applyAndRelease(ctx context.Context, next Payment, event workflow.Event, parts []ledger.TxPart) (Payment, error) {
	held := next.Capturable > 0
	next.Capturable = 0

	// A void of an expired authorization finds no hold: the expiry has released it. A charge from an
	// account with overdraft never had one.
	if !held {
		return s.applyAndSave(ctx, next, event, parts)
	}

	next, err := next.apply(event)
	if err != nil {
		return next, err
	}

	return s.release(ctx, next, parts)
}

// release ends the payment's hold in one transaction with the payment.
func (s *Payments) release(ctx context.Context, next Payment, parts []ledger.TxPart) (Payment, error) {
	_, err := s.ledger.Release(ctx, next.Payer, next.ID, s.txPart(next, parts))

	return s.resolveLedger(ctx, next, err)
}

// post makes the transfer of a step in one transaction with the payment. The processor has already
// moved the money. So if the account to credit (the second leg's) refuses it, a suspense account gets
// it. Except: for a charge or capture, post returns ledger.ErrAccountClosed, and finish has the
// processor return the money.
func (s *Payments) post(ctx context.Context, next Payment, t ledger.Transfer, kind Kind, parts []ledger.TxPart) (Payment, error) {
	t.Reference = transferReference + string(kind)

	now, err := s.postStep(ctx, next, t, parts)
	if !refuses(t.Legs[1].Account, err) || kind != Refunding && errors.Is(err, ledger.ErrAccountClosed) {
		return now, err
	}

	return s.postToSuspense(ctx, next, t, kind, parts)
}

// postStep sends the transfer once, in one transaction with the payment.
func (s *Payments) postStep(ctx context.Context, next Payment, t ledger.Transfer, parts []ledger.TxPart) (Payment, error) {
	posted, err := s.ledger.Post(ctx, t, s.txPart(next, parts))
	if err == nil && posted.Replayed {
		// Another call has made the transfer and ended the step, so this call wrote no record.
		err = errStale
	}

	return s.resolveLedger(ctx, next, err)
}

// resolveLedger reads the ledger's answer to a write of next. If another call has ended
// the step, it returns errStale and the payment as it is.
func (s *Payments) resolveLedger(ctx context.Context, next Payment, err error) (Payment, error) {
	next, err = s.resolveWrite(next, err)

	// ErrConflict: another worker has made the transfer and credited another account. One of the two
	// accounts is a suspense account.
	ended := errors.Is(err, errStale) || errors.Is(err, ledger.ErrHoldClosed) || errors.Is(err, ledger.ErrConflict)
	if err == nil || !ended {
		return next, err
	}

	now, getErr := s.Get(ctx, next.ID)
	switch {
	case getErr != nil:
		return next, getErr
	case now.Revision < next.Revision:
		// The payment has not changed, so none of its steps has ended the hold or made the transfer.
		// Nothing else may do that.
		return next, fmt.Errorf("payment %s: %w: %w", next.ID, ledger.ErrCorrupt, err)
	}

	return now, errStale
}
