package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
	"ratchet/ledger"
	"ratchet/workflow"
)

// answer is what the processor said of a step.
type answer struct {
	succeeded bool
	reference string
	reason    string // why it failed, in this package's words
}

// finish carries out the payment's pending step, or returns what became of it. Any
// number of workers may do so at once.
func (s *Payments) finish(ctx context.Context, p Payment, step string, beside ...ledger.TxPart) (Payment, error) {
	for range tries {
		if p.Pending == nil || p.Pending.ID != step {
			return p, p.verdict(step)
		}

		said, err := s.ask(ctx, p)
		if err != nil {
			return p, fmt.Errorf("%s payment %s: %w", p.Pending.Kind, p.ID, err)
		}

		now, err := s.end(ctx, p, said, beside)
		if p.Pending.Kind == Capturing && said.succeeded && errors.Is(err, ledger.ErrAccountClosed) {
			if said, err = s.giveBack(ctx, p); err == nil {
				now, err = s.end(ctx, p, said, beside)
			}
		}

		if err != nil && !errors.Is(err, errMoved) {
			return p, fmt.Errorf("%s payment %s: %w", p.Pending.Kind, p.ID, err)
		}
		p = now
	}

	return p, fmt.Errorf("payment %s: %w", p.ID, ErrBusy)
}

// verdict is what became of a finished step: nil when it was done.
func (p Payment) verdict(id string) error {
	step := p.step(id)
	switch {
	case step == nil: // overtaken by a void
		return fmt.Errorf("payment %s, step %s: %w", p.ID, id, ErrVoided)
	case step.Outcome == Failed:
		err := ErrDeclined
		switch step.Reason {
		case reasonVoided:
			err = ErrVoided
		case reasonClosed:
			err = fmt.Errorf("%w: the payee: %w", err, ledger.ErrAccountClosed)
		}

		return fmt.Errorf("payment %s, step %s: %w", p.ID, id, err)
	}

	return nil
}

const (
	reasonDeclined = "declined"
	reasonVoided   = "voided"
	reasonConflict = "conflict"
	reasonClosed   = "account closed"
)

// ask asks the processor for the pending step. A call that says nothing is resolved by
// asking what became of the key; only a key that it has never seen is asked for again.
func (s *Payments) ask(ctx context.Context, p Payment) (answer, error) {
	const asks = 3
	var err error
	for attempt := 1; ; attempt++ {
		var reference string
		if reference, err = s.call(ctx, p); err == nil {
			return answer{succeeded: true, reference: reference}, nil
		}

		if reason := refusal(err); reason != "" {
			return answer{reason: reason}, nil
		}

		said, known, lookErr := s.lookup(ctx, p)
		if known {
			return said, nil
		}

		if attempt == asks || !worker.Wait(ctx, 25*time.Millisecond<<attempt) {
			return answer{}, errors.Join(ErrUnresolved, err, lookErr)
		}
	}
}

// refusal is the reason that an error gives, "" when it says nothing.
func refusal(err error) string {
	switch {
	case errors.Is(err, ErrDeclined):
		return reasonDeclined
	case errors.Is(err, ErrVoided):
		return reasonVoided
	case errors.Is(err, ErrConflict):
		return reasonConflict
	}

	return ""
}

// call asks the processor once.
func (s *Payments) call(ctx context.Context, p Payment) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()

	step := p.Pending
	r := Request{Key: p.key(step.ID), Authorization: p.key(string(Authorizing)), OrderID: p.OrderID, Amount: step.Amount, Currency: p.Currency}
	switch step.Kind {
	case Authorizing:
		return s.cfg.Processor.Authorize(ctx, r)
	case Capturing:
		return s.cfg.Processor.Capture(ctx, r)
	case Refunding:
		return s.cfg.Processor.Refund(ctx, r)
	}

	if p.Captured > 0 { // to void now would return what was captured; the rest runs out by itself
		return "", nil
	}

	return "", s.cfg.Processor.Void(ctx, r.Authorization)
}

// giveBack returns a capture that the processor has made and the payee's account cannot
// take, because it was closed meanwhile. No account is ever opened again, so every
// worker comes here; the key makes it happen once.
func (s *Payments) giveBack(ctx context.Context, p Payment) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()

	key := p.key(p.Pending.ID)
	_, err := s.cfg.Processor.Refund(ctx, Request{Key: key + "/return", Authorization: p.key(string(Authorizing)), OrderID: p.OrderID,
		Amount: p.Pending.Amount, Currency: p.Currency})
	if err != nil { // whatever it says, the capture stands until it is returned
		return answer{}, fmt.Errorf("%w: return %s: %s", ErrUnresolved, key, err.Error())
	}

	return answer{reason: reasonClosed}, nil
}

// lookup asks the processor what became of the pending step.
func (s *Payments) lookup(ctx context.Context, p Payment) (said answer, known bool, err error) {
	if p.Pending.Kind == Voiding || p.Pending.Kind == Expiring {
		return answer{}, false, nil // voiding again is harmless
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()

	op, err := s.cfg.Processor.Lookup(ctx, p.key(p.Pending.ID))
	switch {
	case err != nil || op.Status == OperationUnknown:
		return answer{}, false, err
	case op.Status == OperationDeclined:
		return answer{reason: reasonDeclined}, true, nil
	case op.Status == OperationVoided:
		return answer{reason: reasonVoided}, true, nil
	case op.Amount != p.Pending.Amount || op.Currency != p.Currency:
		return answer{reason: reasonConflict}, true, nil
	}

	return answer{succeeded: true, reference: op.Reference}, true, nil
}

// end writes what the processor said, in one transaction with what it means for the
// ledger. It returns the payment as it is then; errMoved when somebody else ended it.
func (s *Payments) end(ctx context.Context, p Payment, said answer, beside []ledger.TxPart) (Payment, error) {
	step := *p.Pending
	next := p.with(s.cfg.Now())
	next.call, next.ended, next.Pending = newCall(), p.Pending, nil

	step.Outcome, step.Reference, step.Reason, step.At = Failed, said.reference, said.reason, next.UpdatedAt
	if said.succeeded {
		step.Outcome = Succeeded
	}

	next.Steps = append(next.Steps, step)
	switch step.Kind {
	case Authorizing:
		return s.endAuthorize(ctx, next, said, beside)
	case Capturing:
		return s.endCapture(ctx, next, step, said, beside)
	case Refunding:
		return s.endRefund(ctx, next, step, said, beside)
	}

	return s.endHold(ctx, next, step, beside)
}

func (s *Payments) endAuthorize(ctx context.Context, next Payment, said answer, beside []ledger.TxPart) (Payment, error) {
	if !said.succeeded {
		return s.releaseWith(ctx, next, "fail", beside)
	}

	next, err := next.moved("authorize")
	if err != nil {
		return next, err
	}

	return s.save(ctx, next, beside...)
}

func (s *Payments) endCapture(ctx context.Context, next Payment, step Step, said answer, beside []ledger.TxPart) (Payment, error) {
	if !said.succeeded && next.Captured == 0 {
		return s.releaseWith(ctx, next, "fail", beside)
	}

	if !said.succeeded {
		next, err := next.moved("fail")
		if err != nil {
			return next, err
		}

		return s.save(ctx, next, beside...)
	}

	next.Captured += step.Amount
	next.Capturable -= step.Amount
	if step.Final {
		next.Capturable = 0
	}

	next, err := next.moved("settle")
	if err != nil {
		return next, err
	}
	t := ledger.Move(next.key(step.ID), next.Payer, next.Payee, step.Amount, next.Currency)
	t.Legs[0].Hold, t.Legs[0].Release = next.ID, next.Capturable == 0

	return s.post(ctx, next, t, Capturing, beside)
}

func (s *Payments) endRefund(ctx context.Context, next Payment, step Step, said answer, beside []ledger.TxPart) (Payment, error) {
	key := next.key(step.ID)
	if !said.succeeded {
		next, err := next.moved("fail_refund")
		if err != nil {
			return next, err
		}
		_, err = s.ledger.Release(ctx, next.Payee, key, s.beside(next, beside))

		return s.after(ctx, next, err)
	}

	next.Refunded += step.Amount
	next, err := next.moved("refund")
	if err != nil {
		return next, err
	}
	t := ledger.Move(key, next.Payee, next.Payer, step.Amount, next.Currency)
	t.Legs[0].Hold, t.Legs[0].Release = key, true

	return s.post(ctx, next, t, Refunding, beside)
}

// endHold ends a void or an expiry.
func (s *Payments) endHold(ctx context.Context, next Payment, step Step, beside []ledger.TxPart) (Payment, error) {
	if next.Captured > 0 { // the rest of an authorization of which a part was captured
		next.Capturable = 0
		_, err := s.ledger.Release(ctx, next.Payer, next.ID, s.beside(next, beside))
		return s.after(ctx, next, err)
	}

	if step.Kind == Expiring {
		return s.releaseWith(ctx, next, "expire", beside)
	}

	return s.releaseWith(ctx, next, "void", beside)
}

// releaseWith moves the payment and gives back what is set aside on the payer's account.
func (s *Payments) releaseWith(ctx context.Context, next Payment, event workflow.Event, beside []ledger.TxPart) (Payment, error) {
	held := next.Capturable > 0
	next.Capturable = 0
	next, err := next.moved(event)
	if err != nil {
		return next, err
	}

	if !held { // an expired authorization that is voided
		return s.save(ctx, next, beside...)
	}
	_, err = s.ledger.Release(ctx, next.Payer, next.ID, s.beside(next, beside))

	return s.after(ctx, next, err)
}

// post makes the step's transfer with the payment's record beside it.
func (s *Payments) post(ctx context.Context, next Payment, t ledger.Transfer, kind Kind, beside []ledger.TxPart) (Payment, error) {
	t.Reference = TransferReference + string(kind)

	posted, err := s.ledger.Post(ctx, t, s.beside(next, beside))
	if err == nil && posted.Replayed {
		err = errMoved
	}

	return s.after(ctx, next, err)
}

// after reads the ledger's answer: what says that somebody else has ended the step
// brings the payment as it is.
func (s *Payments) after(ctx context.Context, next Payment, err error) (Payment, error) {
	next, err = s.settled(next, err)
	if err == nil || !errors.Is(err, errMoved) && !errors.Is(err, ledger.ErrHoldClosed) {
		return next, err
	}

	now, getErr := s.Get(ctx, next.ID)
	switch {
	case getErr != nil:
		return next, getErr
	case now.Revision < next.Revision: // nobody has: the hold was closed behind the payment's back
		return next, fmt.Errorf("payment %s: %w: %w", next.ID, ledger.ErrCorrupt, err)
	}

	return now, errMoved
}
