package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/ledger"
	"ratchet/txn"
	"ratchet/workflow"
)

// tries bounds how often a call begins anew because others have moved the payment.
const tries = 20

// Authorize opens a payment: it sets the amount aside on the payer's account and asks
// the processor to hold it. A repeat goes on where the first stopped, or returns the
// payment as it is; ErrDeclined when the processor refused, a ledger.Refusal when the
// payer's or the payee's account did (then there is no payment).
func (s *Payments) Authorize(ctx context.Context, n NewPayment) (Payment, error) {
	if err := n.Validate(); err != nil {
		return Payment{}, fmt.Errorf("authorize: %w", err)
	}

	if !n.ExpiresAt.IsZero() {
		n.ExpiresAt = time.UnixMilli(n.ExpiresAt.UnixMilli()).UTC()
	}

	now := s.cfg.Now()
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		if _, err := s.Get(ctx, n.ID); errors.Is(err, ErrUnknownPayment) { // a repeat may come late
			return Payment{}, fmt.Errorf("authorize payment %s: %w: expiresAt: has passed", n.ID, ErrInvalid)
		}
	}

	payee, err := s.ledger.RequireOpen(ctx, n.ID, n.Payee, n.Currency)
	if err != nil {
		return Payment{}, fmt.Errorf("authorize payment %s: %w", n.ID, err)
	}
	p := Payment{NewPayment: n, State: workflow.Payment().Initial(), Capturable: n.Amount, call: newCall()}.with(now)
	p.CreatedAt = p.UpdatedAt

	p.Pending = &Step{ID: string(Authorizing), Kind: Authorizing, Amount: n.Amount, Outcome: Pending, At: p.UpdatedAt}
	_, replayed, err := s.ledger.Reserve(ctx, ledger.NewHold{ID: n.ID, Account: n.Payer, Amount: n.Amount, Currency: n.Currency}, s.beside(p, []ledger.TxPart{payee}))
	switch {
	case errors.Is(err, ledger.ErrConflict), errors.Is(err, errMoved):
		replayed = true // of another account or amount
	case err != nil:
		return Payment{}, fmt.Errorf("authorize payment %s: %w", n.ID, byAccount(err))
	}

	if replayed {
		if p, err = s.Get(ctx, n.ID); err != nil {
			return Payment{}, err
		}

		if p.NewPayment != n {
			return Payment{}, fmt.Errorf("authorize payment %s: %w", n.ID, ErrConflict)
		}
	}

	return s.finish(ctx, p, string(Authorizing))
}

// Capture takes a part of what is authorized, or all of it: from the payer's account to
// the payee's. ErrExceeded when less may be captured; ErrDeclined when the processor
// refuses.
func (s *Payments) Capture(ctx context.Context, id string, ask Ask) (Payment, error) {
	return s.begin(ctx, id, ask, Capturing)
}

// Refund gives a part of what was captured back, or all of it: from the payee's account
// to the payer's. The amount is set aside on the payee's account first, so that
// ledger.ErrInsufficientFunds comes before anything is returned. What was not captured
// is given up first, once the refund is one that the payment allows: a payment that
// gives back takes no more.
func (s *Payments) Refund(ctx context.Context, id string, ask Ask) (Payment, error) {
	if ask.Final {
		return Payment{}, fmt.Errorf("refund payment %.60s: %w: final: only of a capture", id, ErrInvalid)
	}

	if err := ask.Validate(); err != nil {
		return Payment{}, fmt.Errorf("%s payment %.60s: %w", Refunding, id, err)
	}

	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}

	if p.step(ask.ID) == nil && p.Captured > 0 && p.Capturable > 0 && (p.Pending == nil || p.Pending.Kind == Voiding) {
		voided := p
		voided.Pending = nil
		if _, err := s.plan(voided, ask, Refunding); err != nil {
			return p, fmt.Errorf("%s payment %s: %w", Refunding, id, err)
		}

		if p, err = s.Void(ctx, id); err != nil {
			return p, err
		}
	}

	return s.begin(ctx, id, ask, Refunding)
}

// Void gives up what was authorized and not captured. It may overtake an authorization
// of which nobody knows whether it was made.
func (s *Payments) Void(ctx context.Context, id string) (Payment, error) {
	return s.begin(ctx, id, Ask{ID: string(Voiding)}, Voiding)
}

// begin writes down what is about to be asked and carries it out.
func (s *Payments) begin(ctx context.Context, id string, ask Ask, kind Kind) (Payment, error) {
	if kind == Capturing || kind == Refunding {
		if err := ask.Validate(); err != nil {
			return Payment{}, fmt.Errorf("%s payment %.60s: %w", kind, id, err)
		}
	}

	p, err := s.Get(ctx, id)
	if err != nil {
		return Payment{}, err
	}

	for range tries {
		if before := p.step(ask.ID); before != nil {
			if before.Kind != kind || before.Amount != ask.Amount || before.Final != ask.Final {
				return p, fmt.Errorf("%s payment %s, step %s: %w", kind, id, ask.ID, ErrConflict)
			}
			return s.finish(ctx, p, ask.ID)
		}

		next, err := s.plan(p, ask, kind)
		if err != nil {
			return p, fmt.Errorf("%s payment %s: %w", kind, id, err)
		}

		p, err = s.start(ctx, next)
		switch {
		case err == nil:
			return s.finish(ctx, p, ask.ID)
		case !errors.Is(err, errMoved):
			return p, fmt.Errorf("%s payment %s: %w", kind, id, byAccount(err))
		}
	}

	return p, fmt.Errorf("%s payment %s: %w", kind, id, txn.ErrContended)
}

// plan is the payment with the step under way, or why it may not be.
func (s *Payments) plan(p Payment, ask Ask, kind Kind) (next Payment, err error) {
	switch overtakes := kind == Voiding && p.Pending != nil && p.Pending.Kind == Authorizing; {
	case p.Pending != nil && !overtakes:
		return p, fmt.Errorf("step %s: %w", p.Pending.ID, ErrBusy)
	case (kind == Capturing || kind == Refunding) && p.count(kind) >= MaxSteps:
		return p, fmt.Errorf("%w: %d steps of this kind", ErrExceeded, MaxSteps)
	}

	next = p.with(s.cfg.Now())
	next.call, next.ended = newCall(), p.Pending // a void overtakes it
	next.Pending = &Step{ID: ask.ID, Kind: kind, Amount: ask.Amount, Final: ask.Final, Outcome: Pending, At: next.UpdatedAt}
	switch kind {
	case Capturing:
		if next, err = next.moved("capture"); err == nil && ask.Amount > p.Capturable {
			err = fmt.Errorf("%w: %d of %d may be captured", ErrExceeded, p.Capturable, p.Amount)
		}
	case Refunding:
		if next, err = next.moved("request_refund"); err == nil && ask.Amount > p.Captured-p.Refunded {
			err = fmt.Errorf("%w: %d may be refunded", ErrExceeded, p.Captured-p.Refunded)
		}
	case Voiding:
		if p.Captured == 0 || p.Capturable == 0 {
			_, err = next.moved("void") // when it has ended
		}
	case Expiring:
		if p.Captured == 0 {
			_, err = next.moved("expire")
		}
	}

	return next, err
}

// start writes the planned step, for a refund with the money set aside, while the
// account that it credits takes part. errMoved comes with the payment as it is.
func (s *Payments) start(ctx context.Context, next Payment) (Payment, error) {
	credited := map[Kind]string{Capturing: next.Payee, Refunding: next.Payer}[next.Pending.Kind]
	if credited == "" {
		return s.save(ctx, next)
	}

	serving, err := s.ledger.RequireOpen(ctx, next.key(next.Pending.ID), credited, next.Currency)
	if err != nil {
		return next, err
	}

	if next.Pending.Kind == Capturing {
		return s.save(ctx, next, serving)
	}

	_, replayed, err := s.ledger.Reserve(ctx, ledger.NewHold{ID: next.key(next.Pending.ID), Account: next.Payee,
		Amount: next.Pending.Amount, Currency: next.Currency}, s.beside(next, []ledger.TxPart{serving}))
	if err == nil && !replayed {
		return next, nil
	}

	if replayed || errors.Is(err, ledger.ErrConflict) { // begun by somebody else: the record says how
		now, err := s.Get(ctx, next.ID)
		if err != nil {
			return next, err
		}

		return now, errMoved
	}

	return s.settled(next, err)
}

// byAccount leaves of an error the account's refusal, when it is one.
func byAccount(err error) error {
	if refusal := (*ledger.Refusal)(nil); errors.As(err, &refusal) {
		return refusal
	}
	return err
}
