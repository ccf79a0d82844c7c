package payments

import (
	"context"
	"errors"
	"fmt"

	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// maxRestarts is how many times a call starts over because another call has changed the payment.
const maxRestarts = 20

// Capture moves a part of the authorized amount, or all of it, from the payer's account to the
// payee's. It returns ErrExceeded if the amount is more than may still be captured, and ErrDeclined
// if the processor refuses. If the payee's account is closed after the step began, the capture is
// refunded at the processor and the error is ErrDeclined with ledger.ErrAccountClosed.
func (s *Payments) Capture(ctx context.Context, id string, r StepRequest) (Payment, error) {
	return s.do(ctx, id, r, Capturing)
}

// Refund moves a part of the captured amount, or all of it, from the payee's account back to the
// payer's. The amount is set aside on the payee's account first. If that account has too little,
// Refund returns ledger.ErrInsufficientFunds and the processor gets no request. If a part of the
// authorized amount was not captured, an allowed refund voids that part first, so nothing can be
// captured after a refund.
func (s *Payments) Refund(ctx context.Context, id string, r StepRequest) (Payment, error) {
	if r.Final {
		return Payment{}, fmt.Errorf("refund payment %.60s: %w: final: only of a capture", id, ErrInvalid)
	}

	if err := r.Validate(); err != nil {
		return Payment{}, fmt.Errorf("%s payment %.60s: %w", Refunding, id, err)
	}

	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}

	if p.Step(r.ID) == nil && p.Capturable > 0 && (p.Pending == nil || p.Pending.Kind == voiding) {
		// Void the rest only if the refund will then be allowed.
		voided := p
		voided.Pending = nil
		if _, err := s.plan(voided, r, Refunding); err != nil {
			return p, fmt.Errorf("%s payment %s: %w", Refunding, id, err)
		}

		if p, err = s.Void(ctx, id); err != nil {
			return p, err
		}
	}

	return s.do(ctx, id, r, Refunding)
}

// Void releases the authorized amount that was not captured. A void may overtake a pending
// authorization or charge, whose outcome is not known. That step then never ends; a repeat of its
// call returns ErrVoided.
func (s *Payments) Void(ctx context.Context, id string) (Payment, error) {
	return s.do(ctx, id, StepRequest{ID: string(voiding)}, voiding)
}

// do stores a step as pending and finishes it. A repeat finishes the stored step, or
// returns its result.
func (s *Payments) do(ctx context.Context, id string, r StepRequest, kind Kind) (Payment, error) {
	if kind == Capturing || kind == Refunding {
		if err := r.Validate(); err != nil {
			return Payment{}, fmt.Errorf("%s payment %.60s: %w", kind, id, err)
		}
	}

	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}

	for range maxRestarts {
		if before := p.Step(r.ID); before != nil {
			if before.Kind != kind || before.Amount != r.Amount || before.Final != r.Final {
				return p, fmt.Errorf("%s payment %s, step %s: %w", kind, id, r.ID, ErrConflict)
			}

			return s.finish(ctx, p, r.ID)
		}

		next, err := s.plan(p, r, kind)
		if err != nil {
			return p, fmt.Errorf("%s payment %s: %w", kind, id, err)
		}

		// On errStale p is the payment as it is now, and the next round plans on it.
		p, err = s.storePending(ctx, next)
		switch {
		case err == nil:
			return s.finish(ctx, p, r.ID)
		case !errors.Is(err, errStale):
			return p, fmt.Errorf("%s payment %s: %w", kind, id, accountRefusal(err))
		}
	}

	return p, fmt.Errorf("%s payment %s: %w", kind, id, txn.ErrContended)
}

// plan returns the payment with the step pending, or the reason why the payment does not
// allow the step.
func (s *Payments) plan(p Payment, r StepRequest, kind Kind) (next Payment, err error) {
	overtakes := kind == voiding && p.isOpening()
	switch {
	case p.Pending != nil && !overtakes:
		return p, fmt.Errorf("step %s: %w", p.Pending.ID, ErrBusy)
	// The steps are part of one item of at most 400 KB, so their number is bounded.
	case (kind == Capturing || kind == Refunding) && !r.cancels && p.count(kind) >= maxSteps:
		return p, fmt.Errorf("%w: %d steps of this kind", ErrExceeded, maxSteps)
	}

	next = p.next(s.cfg.Now())
	next.ended = p.Pending // the opening step that a void overtakes, else nil
	next.Pending = &Step{ID: r.ID, Kind: kind, Amount: r.Amount, Final: r.Final, Outcome: Pending, At: next.UpdatedAt}

	// A capture or refund changes the state now. A void or an expiry changes it when the step ends, so
	// here the event is only checked. After a capture, a void or an expiry releases the rest and does
	// not change the state, so there is no event to check.
	switch kind {
	case Capturing:
		if next, err = next.apply("capture"); err == nil && r.Amount > p.Capturable {
			err = fmt.Errorf("%w: %d of %d may be captured", ErrExceeded, p.Capturable, p.Amount)
		}
	case Refunding:
		if next, err = next.apply("request_refund"); err == nil && r.Amount > p.Captured-p.Refunded {
			err = fmt.Errorf("%w: %d may be refunded", ErrExceeded, p.Captured-p.Refunded)
		}
	case voiding:
		if p.Captured == 0 || p.Capturable == 0 {
			_, err = next.apply("void")
		}
	case expiring:
		if p.Captured == 0 {
			_, err = next.apply("expire")
		}
	}

	return next, err
}

// storePending stores the planned step. It refuses a capture if the payee's account is known to be
// closed; the transfer checks again. For a refund it sets the money aside and requires that the
// payer's account is open. If another call has changed the payment, storePending returns errStale and
// the changed payment.
func (s *Payments) storePending(ctx context.Context, next Payment) (Payment, error) {
	switch next.Pending.Kind {
	case Capturing:
		if _, err := s.ledger.Seen(ctx, next.ID, next.Payee, next.Currency); err != nil {
			return next, err
		}

		return s.save(ctx, next)
	case Refunding:
		return s.storePendingRefund(ctx, next)
	}

	return s.save(ctx, next)
}

func (s *Payments) storePendingRefund(ctx context.Context, next Payment) (Payment, error) {
	key := next.key(next.Pending.ID)

	// A refund to a closed account would end in a suspense account, so it is refused before the
	// processor is asked.
	creditedOpen, err := s.ledger.RequireOpen(ctx, key, next.Payer, next.Currency)
	if err != nil {
		return next, err
	}

	hold := ledger.NewHold{ID: key, Account: next.Payee, Amount: next.Pending.Amount, Currency: next.Currency}
	_, replayed, err := s.ledger.Reserve(ctx, hold, s.txPart(next, []ledger.TxPart{creditedOpen}))
	if err == nil && !replayed {
		return next, nil
	}

	// Another call has set money aside under this step's id. The payment's record says for which step.
	if replayed || errors.Is(err, ledger.ErrConflict) {
		now, err := s.Get(ctx, next.ID)
		if err != nil {
			return next, err
		}

		return now, errStale
	}

	return s.resolveWrite(next, err)
}

// accountRefusal returns the *ledger.RefusedError that err wraps, or err if it wraps none.
func accountRefusal(err error) error {
	if refusal := (*ledger.RefusedError)(nil); errors.As(err, &refusal) {
		return refusal
	}

	return err
}
