package payments

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"ratchet/once/txn"
)

// cancelID is the id of the first refund of Cancel. If the id is used, for example by a refund that
// the processor declined, the next refund has the id cancel-2, then cancel-3, ... The texts are
// stored.
const (
	cancelID   = "cancel"
	maxCancels = 100
)

// Cancel gives back all money that the payment has taken, and closes the payment. It voids an
// authorization, or a charge that is pending, and refunds captured money. If another step is pending,
// Cancel finishes it first. If there is no payment with the id, Cancel stores a VOIDED one. A later
// Charge or Authorize under the id returns ErrVoided. A repeat goes on where the last call stopped.
// After a call that succeeded, a repeat changes nothing.
//
// Cancel returns ErrUnresolved if the processor does not answer, ErrDeclined if it refuses the
// refund, ErrExceeded after too many declined refunds, and a *ledger.RefusedError if an account
// refuses the refund. After ErrUnresolved, ErrDeclined and *ledger.RefusedError a repeat tries again.
func (s *Payments) Cancel(ctx context.Context, id string) (Payment, error) {
	if err := checkPaymentID(id); err != nil {
		return Payment{}, fmt.Errorf("cancel: %w", err)
	}

	p := Payment{}
	for range maxRestarts {
		var err error
		if p, err = s.cancelStep(ctx, id); err == nil && p.isCanceled() {
			return p, nil
		}

		if err != nil && !errors.Is(err, errStale) {
			return p, fmt.Errorf("cancel payment %s: %w", id, accountRefusal(err))
		}
	}

	return p, fmt.Errorf("cancel payment %s: %w", id, txn.ErrContended)
}

// isCanceled reports whether Cancel has nothing left to do.
func (p *Payment) isCanceled() bool {
	return p.Canceled && p.Pending == nil && !p.isVoidable() && p.Refunded == p.Captured
}

// isVoidable reports whether a void would change the payment.
func (p *Payment) isVoidable() bool {
	return p.isOpening() || p.Capturable > 0 || p.State == "AUTH_EXPIRED"
}

// isTombstone reports whether Cancel has stored the payment because none existed.
func (p *Payment) isTombstone() bool { return p.Canceled && p.Amount == 0 }

// cancelStep takes the next step towards a canceled payment. It returns errStale if another call has
// changed the payment since it was read.
func (s *Payments) cancelStep(ctx context.Context, id string) (Payment, error) {
	p, err := s.Get(ctx, id)
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return s.storeTombstone(ctx, id)
	case err != nil || p.isCanceled():
		return p, err
	case p.Pending != nil && !p.isOpening():
		// The step may succeed or fail. The next round gives back the money that is captured then.
		p, err = s.finish(ctx, p, p.Pending.ID)
		if isRefusal(err) {
			err = nil
		}

		return p, err
	case p.isVoidable():
		return s.cancelBy(ctx, p, StepRequest{ID: string(voiding)}, voiding)
	case p.Refunded < p.Captured:
		return s.cancelBy(ctx, p, StepRequest{ID: p.nextCancelID(), Amount: p.Captured - p.Refunded, cancels: true}, Refunding)
	}

	// There is nothing to give back. This write only closes the payment.
	next := p.next(s.cfg.Now())
	next.Canceled = true

	return s.save(ctx, next)
}

// cancelBy makes a step of the payment. The write that begins the step also closes the payment.
func (s *Payments) cancelBy(ctx context.Context, p Payment, r StepRequest, kind Kind) (Payment, error) {
	if p.count(Refunding) >= maxSteps+maxCancels {
		return p, fmt.Errorf("%w: %d refunds were declined", ErrExceeded, maxCancels)
	}

	next, err := s.plan(p, r, kind)
	if err != nil {
		return p, err
	}

	// Closed with the first step, so that no other call can take money between two steps.
	next.Canceled = true
	if p, err = s.storePending(ctx, next); err != nil {
		return p, err
	}

	return s.finish(ctx, p, r.ID)
}

// nextCancelID returns the first id of a refund of Cancel that the payment has not used.
func (p *Payment) nextCancelID() string {
	id := cancelID
	for n := 2; p.Step(id) != nil; n++ {
		id = cancelID + "-" + strconv.Itoa(n)
	}

	return id
}

// storeTombstone stores a payment that is VOIDED and closed from the beginning.
func (s *Payments) storeTombstone(ctx context.Context, id string) (Payment, error) {
	p := Payment{NewPayment: NewPayment{ID: id}, State: "VOIDED", Canceled: true}.next(s.cfg.Now())
	p.CreatedAt = p.UpdatedAt

	return s.save(ctx, p)
}
