package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
	"ratchet/once/ledger"
)

// answer is the processor's answer to a step.
type answer struct {
	succeeded bool
	reference string
	reason    string // why the step failed: one of the constants below
}

// The reasons of a failed step. The texts are stored.
const (
	reasonDeclined = "declined"
	reasonVoided   = "voided"
	reasonExpired  = "expired"
	reasonConflict = "conflict"
	reasonClosed   = "account closed"
	reasonRefused  = "the ledger refused"
)

// partOf returns a part that is written together with the end of a step.
type partOf func(ended Step) ledger.TxPart

func partsOf(ended Step, with []partOf) (parts []ledger.TxPart) {
	for _, part := range with {
		parts = append(parts, part(ended))
	}

	return parts
}

// finish finishes the pending step of the payment, or returns the step's result if it has ended.
// Any number of workers may call it for one step. The parts are written together with the result.
func (s *Payments) finish(ctx context.Context, p Payment, step string, with ...partOf) (Payment, error) {
	for attempt := 1; ; attempt++ {
		switch {
		case p.Pending == nil || p.Pending.ID != step:
			return p, p.result(step)
		case attempt > maxRestarts:
			return p, fmt.Errorf("payment %s: %w", p.ID, ErrBusy)
		}

		// Every worker sends the same key, so the processor acts once.
		said, err := s.askProcessor(ctx, p)
		if err != nil {
			return p, fmt.Errorf("%s payment %s: %w", p.Pending.Kind, p.ID, err)
		}

		now, err := s.storeAnswer(ctx, p, said, with)
		switch {
		case !said.succeeded:
		case p.Pending.Kind == Capturing && errors.Is(err, ledger.ErrAccountClosed):
			if said, err = s.refundCapture(ctx, p); err == nil {
				now, err = s.storeAnswer(ctx, p, said, with)
			}
		case p.Pending.Kind == Charging:
			if refusal := (*ledger.RefusedError)(nil); errors.As(err, &refusal) {
				now, err = s.returnCharge(ctx, p, refusal, with)
			}
		}

		if err != nil && !errors.Is(err, errStale) {
			return p, fmt.Errorf("%s payment %s: %w", p.Pending.Kind, p.ID, unstored(err))
		}

		// On errStale another call has ended the step, or a void has overtaken it. The next round sees it
		// in the payment as it is now.
		p = now
	}
}

// unstored returns the error of an answer of the processor that could not be stored: the step stays
// pending, whatever the error is, and a repeat asks again. The refusal of an account stays as it is.
func unstored(err error) error {
	var refusal *ledger.RefusedError
	if errors.As(err, &refusal) || errors.Is(err, ErrUnresolved) || errors.Is(err, ErrState) || errors.Is(err, ErrUnknownPayment) {
		return err
	}

	return errors.Join(ErrUnresolved, err)
}

// result returns the error of a step that has ended, nil if it succeeded.
func (p Payment) result(id string) error {
	step := p.Step(id)
	switch {
	case step == nil: // overtaken by a void
		return fmt.Errorf("payment %s, step %s: %w", p.ID, id, ErrVoided)
	case step.Outcome == Failed:
		err := ErrDeclined
		switch step.Reason {
		case reasonVoided:
			err = ErrVoided
		case reasonExpired:
			err = fmt.Errorf("%w: %w", err, ErrExpired)
		case reasonClosed:
			err = fmt.Errorf("%w: %w", err, ledger.ErrAccountClosed)
		case reasonRefused:
			err = fmt.Errorf("%w: the ledger refused the transfer", err)
		}

		return fmt.Errorf("payment %s, step %s: %w", p.ID, id, err)
	}

	return nil
}

// askProcessor requests the pending step. If a call says nothing about what happened, it
// looks up the key, and sends the request again only if the processor does not know the
// key or does not answer. A refusal after such a call, of this worker or of one before, is looked up,
// too: the call may have been carried out all the same.
func (s *Payments) askProcessor(ctx context.Context, p Payment) (answer, error) {
	// Three calls at most: the step stays pending, and a repeat or Recover goes on.
	const attempts = 3
	for attempt := 1; ; attempt++ {
		began := time.Now()

		reference, err := s.callProcessor(ctx, p)
		if called := s.cfg.Events.Called; called != nil {
			called(p.Pending.Kind, time.Since(began), err)
		}

		if err == nil {
			return answer{succeeded: true, reference: reference}, nil
		}

		// An answer needs no look-up, unless a call before had none and may have been carried out.
		reason := refusalReason(err)
		if p.Pending.Kind == voiding || p.Pending.Kind == expiring {
			reason = voidReason(reason)
		}

		if reason != "" && p.begun && attempt == 1 {
			return answer{reason: reason}, nil
		}

		said, known, lookupErr := s.lookup(ctx, p)
		switch {
		case known:
			return said, nil
		case reason != "" && lookupErr == nil: // the processor has done nothing under the key
			return answer{reason: reason}, nil
		}

		if attempt == attempts || !worker.Wait(ctx, 25*time.Millisecond<<attempt) {
			return answer{}, errors.Join(ErrUnresolved, err, lookupErr)
		}
	}
}

// refusalReason returns the reason of an error that is an answer, else "".
func refusalReason(err error) string {
	switch {
	case errors.Is(err, ErrExpired):
		return reasonExpired
	case errors.Is(err, ErrDeclined):
		return reasonDeclined
	case errors.Is(err, ErrVoided):
		return reasonVoided
	case errors.Is(err, ErrConflict):
		return reasonConflict
	}

	return ""
}

// voidReason returns the reason if it says that the authorization is gone. No other refusal of a void
// shows that nothing is held or taken.
func voidReason(reason string) string {
	if reason == reasonVoided || reason == reasonExpired {
		return reason
	}

	return ""
}

// callProcessor sends the request of the pending step once.
func (s *Payments) callProcessor(ctx context.Context, p Payment) (reference string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	step := p.Pending
	r := Request{
		Key:           p.key(step.ID),
		Authorization: p.key(string(p.opening())),
		OrderID:       p.OrderID,
		Amount:        step.Amount,
		Currency:      p.Currency,
	}

	switch step.Kind {
	case authorizing:
		return s.cfg.Processor.Authorize(ctx, r)
	case Charging:
		return s.cfg.Processor.Sale(ctx, r)
	case Capturing:
		return s.cfg.Processor.Capture(ctx, r)
	case Refunding:
		return s.cfg.Processor.Refund(ctx, r)
	}

	// A void at the processor also returns captured money. So after a capture no void is sent, and the
	// rest of the authorization expires at the processor.
	if p.Captured > 0 {
		return "", nil
	}

	return "", s.cfg.Processor.Void(ctx, r.Authorization)
}

// returnCharge ends a charge that the processor has made although an account refuses the transfer
// for good. It stores the charge as failed and begins a void in one write, so that no other worker
// makes the transfer. With the void the processor returns the money.
func (s *Payments) returnCharge(ctx context.Context, p Payment, refusal *ledger.RefusedError, with []partOf) (Payment, error) {
	next, err := s.plan(p, StepRequest{ID: string(voiding)}, voiding)
	if err != nil {
		return p, err
	}

	failed := *p.Pending
	failed.Outcome, failed.Reason, failed.At = Failed, reasonRefused, next.UpdatedAt
	if errors.Is(refusal, ledger.ErrAccountClosed) {
		failed.Reason = reasonClosed
	}

	next.Steps = append(next.Steps, failed)
	if next, err = s.save(ctx, next, partsOf(failed, with)...); err != nil {
		return next, err
	}

	return s.finish(ctx, next, string(voiding))
}

// refundCapture returns a capture at the processor, because the payee's account was closed after the
// step began and cannot be credited. A closed account never opens again, so every worker that
// finishes the step sends this refund. They send the same key, so the refund happens once.
func (s *Payments) refundCapture(ctx context.Context, p Payment) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	key := p.key(p.Pending.ID)
	_, err := s.cfg.Processor.Refund(ctx, Request{
		Key:           key + "/return",
		Authorization: p.key(string(authorizing)),
		OrderID:       p.OrderID,
		Amount:        p.Pending.Amount,
		Currency:      p.Currency,
	})
	// The processor has the money until the refund succeeds. So every error leaves the step pending,
	// even a refusal.
	if err != nil {
		return answer{}, fmt.Errorf("%w: return %s: %s", ErrUnresolved, key, err.Error())
	}

	return answer{reason: reasonClosed}, nil
}

// lookup asks the processor for the result of the pending step. It reports known if the processor has
// a result under the step's key.
func (s *Payments) lookup(ctx context.Context, p Payment) (said answer, known bool, err error) {
	// A void may be repeated any number of times.
	if p.Pending.Kind == voiding || p.Pending.Kind == expiring {
		return answer{}, false, nil
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	op, err := s.cfg.Processor.Lookup(ctx, p.key(p.Pending.ID))
	switch {
	case err != nil || op.Status == "":
		return answer{}, false, err
	case op.Status == OperationDeclined:
		return answer{reason: reasonDeclined}, true, nil
	case op.Status == OperationVoided:
		return answer{reason: reasonVoided}, true, nil
	// The success of a request with other content must not count as the success of this step.
	case op.Amount != p.Pending.Amount || op.Currency != p.Currency:
		return answer{reason: reasonConflict}, true, nil
	}

	return answer{succeeded: true, reference: op.Reference}, true, nil
}

// storeAnswer ends the pending step: it stores the answer and changes the ledger in one transaction.
// It returns the payment after that. If another call has ended the step, it returns the payment as it
// is, with errStale.
func (s *Payments) storeAnswer(ctx context.Context, p Payment, said answer, with []partOf) (Payment, error) {
	next := p.next(s.clock.Now())
	next.ended, next.Pending = p.Pending, nil

	step := *p.Pending
	step.Outcome = Failed
	if said.succeeded {
		step.Outcome = Succeeded
	}

	step.Reference, step.Reason, step.At = said.reference, said.reason, next.UpdatedAt
	next.Steps = append(next.Steps, step)
	parts := partsOf(step, with)

	switch step.Kind {
	case authorizing:
		return s.endAuthorize(ctx, next, said, parts)
	case Charging:
		return s.endCharge(ctx, next, step, said, parts)
	case Capturing:
		return s.endCapture(ctx, next, step, said, parts)
	case Refunding:
		return s.endRefund(ctx, next, step, said, parts)
	}

	return s.endVoid(ctx, next, step, parts)
}
