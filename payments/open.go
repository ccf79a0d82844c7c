package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/once/ledger"
	"ratchet/workflow"
)

// Authorize opens a payment: it sets the amount aside on the payer's account and asks the
// processor to hold it. A repeat continues the first call, or returns the payment as it is.
//
// Authorize returns ErrDeclined if the processor refused, and ErrVoided if the payment was canceled,
// or was voided before the authorization ended. It returns a *ledger.RefusedError if the payer's or
// the payee's account refused; then there is no payment.
func (s *Payments) Authorize(ctx context.Context, n NewPayment) (Payment, error) {
	if err := n.Validate(); err != nil {
		return Payment{}, fmt.Errorf("authorize: %w", err)
	}

	if !n.ExpiresAt.IsZero() {
		// In the precision of the record: a repeat is compared with the record by ==.
		n.ExpiresAt = time.UnixMilli(n.ExpiresAt.UnixMilli()).UTC()
	}

	// A repeat may come after the expiry and gets its payment. Only a new payment is refused.
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(s.cfg.Now()) {
		switch _, err := s.Get(ctx, n.ID); {
		case errors.Is(err, ErrUnknownPayment):
			return Payment{}, fmt.Errorf("authorize payment %s: %w: expiresAt: has passed", n.ID, ErrInvalid)
		case err != nil:
			return Payment{}, err
		}
	}

	return s.start(ctx, n, authorizing)
}

// Charge opens a payment and takes the whole amount at once, without an authorization
// before. The payment is stored before the processor is asked. The processor's answer is stored in
// one transaction with the ledger's transfer. If the payer's account has no overdraft, the amount is
// set aside on it until then. A repeat continues the first call, or returns the payment as it is,
// even if it was refunded since.
//
// Charge returns ErrDeclined if the processor refused, and ErrVoided if the payment was canceled, or
// was voided before the charge ended. It returns a *ledger.RefusedError if an account refused before
// the processor was asked; then there is no payment. If the ledger refuses the transfer for good
// after the processor has taken the money, the processor returns the money and the error is
// ErrDeclined.
func (s *Payments) Charge(ctx context.Context, n NewPayment) (Payment, error) {
	err := n.Validate()
	if err == nil && !n.ExpiresAt.IsZero() {
		err = fmt.Errorf("%w: expiresAt: only of an authorization", ErrInvalid)
	}

	if err != nil {
		return Payment{}, fmt.Errorf("charge: %w", err)
	}

	return s.start(ctx, n, Charging)
}

// start stores a new payment with its first step pending, and finishes the step. A repeat
// finishes the stored step, or returns its result.
func (s *Payments) start(ctx context.Context, n NewPayment, kind Kind) (Payment, error) {
	p := Payment{NewPayment: n, State: workflow.Payment().Initial(), AtOnce: kind == Charging}.next(s.cfg.Now())
	p.CreatedAt = p.UpdatedAt
	// Stored as pending before the processor is asked, so that a crash leaves a record for Recover.
	p.Pending = &Step{ID: string(kind), Kind: kind, Amount: n.Amount, Outcome: Pending, At: p.UpdatedAt}

	replayed, err := s.open(ctx, &p)
	if err != nil {
		return Payment{}, fmt.Errorf("%s payment %s: %w", kind, n.ID, accountRefusal(err))
	}

	if replayed {
		if p, err = s.Get(ctx, n.ID); err != nil {
			return Payment{}, err
		}

		switch {
		case p.isTombstone(), p.Canceled && p.NewPayment == n && p.opening() == kind:
			return p, fmt.Errorf("%s payment %s: it was canceled: %w", kind, n.ID, ErrVoided)
		case p.NewPayment != n || p.opening() != kind:
			return Payment{}, fmt.Errorf("%s payment %s: %w", kind, n.ID, ErrConflict)
		}
	}

	return s.finish(ctx, p, string(kind))
}

// open stores a new payment, together with a hold on the payer's account if one is needed.
// It refuses the payment if an account is known to be closed or has another currency; the transfer
// checks again. It reports replayed if the payment or its hold already exists, even with other
// content.
func (s *Payments) open(ctx context.Context, p *Payment) (replayed bool, err error) {
	err = s.planHold(ctx, p)
	if refusal := (*ledger.RefusedError)(nil); errors.As(err, &refusal) {
		// A repeat gets its payment, even if an account was closed after the first call.
		if _, getErr := s.Get(ctx, p.ID); !errors.Is(getErr, ErrUnknownPayment) {
			return getErr == nil, getErr
		}
	}

	if err != nil {
		return false, err
	}

	if p.Capturable == 0 {
		_, err = s.save(ctx, *p)
	} else {
		hold := ledger.NewHold{ID: p.ID, Account: p.Payer, Amount: p.Amount, Currency: p.Currency}
		_, replayed, err = s.ledger.Reserve(ctx, hold, s.txPart(*p, nil))
	}

	if errors.Is(err, ledger.ErrConflict) || errors.Is(err, errStale) {
		return true, nil
	}

	return replayed, err
}

// planHold sets Capturable to the amount if the payment needs a hold. An authorized amount is always
// set aside. A charge from an account with overdraft needs no hold: such an account never has too
// little.
func (s *Payments) planHold(ctx context.Context, p *Payment) error {
	if _, err := s.ledger.Seen(ctx, p.ID, p.Payee, p.Currency); err != nil {
		return err
	}

	if p.AtOnce {
		payer, err := s.ledger.Seen(ctx, p.ID, p.Payer, p.Currency)
		if err != nil || payer.Overdraft {
			return err
		}
	}

	p.Capturable = p.Amount

	return nil
}
