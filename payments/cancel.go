package payments

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"ratchet/once/txn"
)

// cancelID is the id of the refund of Cancel. If the processor has declined it, the next
// call makes another one: cancel-2, cancel-3, ... The texts are stored.
const (
	cancelID   = "cancel"
	maxCancels = 100
)

// Cancel gives back all money that the payment has taken, and closes it: an authorization or a charge
// under way is voided, captured money is refunded. A pending step ends first. If there is no such
// payment, Cancel stores a VOIDED one. A later Charge or Authorize under the id returns ErrVoided. A
// repeat goes on where the last call stopped; a finished one changes nothing.
//
// It returns ErrUnresolved if the processor does not answer, ErrDeclined if it refuses the
// refund, and a *ledger.RefusedError if the payee's account cannot pay the refund. In each case the
// payment stays as the failed call left it, and a repeat tries again.
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

// isTombstone reports whether Cancel has stored the payment, because there was none.
func (p *Payment) isTombstone() bool { return p.Canceled && p.Amount == 0 }

// cancelStep brings the payment one step nearer to its end. It returns errStale if another
// call has changed the payment meanwhile.
func (s *Payments) cancelStep(ctx context.Context, id string) (Payment, error) {
	p, err := s.Get(ctx, id)
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return s.storeTombstone(ctx, id)
	case err != nil || p.isCanceled():
		return p, err
	case p.Pending != nil && !p.isOpening():
		// The result does not matter: money that the step leaves is given back next.
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

	// Nothing is left to give back. The record only closes the id.
	next := p.next(s.clock.Now())
	next.Canceled = true

	return s.save(ctx, next)
}

// cancelBy makes a step of the payment. The write that begins it also closes the payment.
func (s *Payments) cancelBy(ctx context.Context, p Payment, r StepRequest, kind Kind) (Payment, error) {
	if kind == Refunding && p.count(Refunding) >= maxSteps+maxCancels {
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
	p := Payment{NewPayment: NewPayment{ID: id}, State: "VOIDED", Canceled: true}.next(s.clock.Now())
	p.CreatedAt = p.UpdatedAt

	return s.save(ctx, p)
}
