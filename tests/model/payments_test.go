package model

import (
	"context"
	"errors"
	"time"

	"ratchet/once/ledger"
	"ratchet/payments"
)

// paymentsModel is the model of payments between accounts of the program.
type paymentsModel struct{ all []*payment }

type payment struct {
	id                                     string
	payer, payee                           *account
	amount, capturable, captured, refunded int64
	closed                                 bool // nothing can be captured any more
	ends                                   time.Time
	steps                                  int
	lastCapture                            payments.StepRequest
}

// some chooses a payment, nil if there is none.
func (s *paymentsModel) some(p *program) *payment {
	if len(s.all) == 0 {
		return nil
	}

	return s.all[p.roll(len(s.all))]
}

func authorize(p *program) {
	s, m := &p.payments, &p.money

	payer, payee := m.some(p), m.some(p)
	if payer == payee {
		return
	}

	one := &payment{id: p.id("payment", len(p.log)), payer: payer, payee: payee, amount: 1 + p.dice.Int64N(400)}
	if p.chance(30) {
		one.ends = p.store.clock.Now().Add(20 * time.Minute).Truncate(time.Millisecond)
	}

	err := p.call("authorize", func(ctx context.Context, c *machine) error {
		_, err := c.payments.Authorize(ctx, payments.NewPayment{ID: one.id, OrderID: one.id, Payer: payer.id, Payee: payee.id, Amount: one.amount, Currency: currency, ExpiresAt: one.ends})
		return err
	})

	var want error
	if payer.available < one.amount {
		want = ledger.ErrInsufficientFunds
	}

	if !errors.Is(err, want) {
		p.fail("authorize %+v: %v, want %v", one, err, want)
	}

	if want == nil {
		s.all = append(s.all, one)
		one.capturable = one.amount
		payer.available -= one.amount
		payer.held += one.amount
	}
}

func (s *paymentsModel) next(p *program, one *payment, amount int64) payments.StepRequest {
	one.steps++
	return payments.StepRequest{ID: p.id("step", len(p.log)), Amount: amount}
}

func capture(p *program) {
	s, one := &p.payments, p.payments.some(p)
	if one == nil {
		return
	}

	r := s.next(p, one, 1+p.dice.Int64N(one.amount))
	r.Final = p.chance(20)
	p.passBy(one.ends)
	err := s.send(p, "capture", func(ctx context.Context, c *machine) error {
		_, err := c.payments.Capture(ctx, one.id, r)
		return err
	})

	if one.closed || r.Amount > one.capturable || one.expired(p.store.clock.Now()) {
		if !errors.Is(err, payments.ErrExceeded) && !errors.Is(err, payments.ErrState) {
			p.fail("capture %+v of %+v: %v", r, one, err)
		}

		return
	}

	if err != nil {
		p.fail("capture %+v of %+v: %v", r, one, err)
	}
	one.lastCapture = r
	one.capturable -= r.Amount
	one.captured += r.Amount
	one.payer.held -= r.Amount
	one.payee.available += r.Amount

	if r.Final {
		one.release()
	}
	one.closed = one.closed || one.capturable == 0
}

func (one *payment) expired(now time.Time) bool { return !one.ends.IsZero() && now.After(one.ends) }

// sweepPayments releases the authorizations that have expired, of all programs of the slot.
func sweepPayments(p *program) {
	s := &p.payments
	if !p.sweeping() {
		return
	}

	for _, one := range s.all {
		p.passBy(one.ends)
	}

	for tries, after := 0, ""; ; {
		var r payments.Recovered

		err := p.call("sweep authorizations", func(ctx context.Context, c *machine) (err error) {
			r, err = c.payments.Recover(ctx, after, 100)
			return err
		})
		if err != nil {
			p.fail("sweep authorizations: %v", err)
			return
		}

		// The processor gives no answer to some of the calls.
		if after = r.Next; len(r.Left) > 0 {
			tries, after = tries+1, ""
		}

		if tries > 50 {
			p.fail("sweep authorizations: %+v is left", r.Left)
			return
		}

		if after == "" && len(r.Left) == 0 {
			break
		}
	}

	for _, one := range s.all {
		if one.expired(p.store.clock.Now()) && !one.closed {
			one.release()
		}
	}
}

// release returns the amount that was not captured.
func (one *payment) release() {
	one.payer.available += one.capturable
	one.payer.held -= one.capturable
	one.capturable, one.closed = 0, true
}

// repeatCapture sends the newest capture again: it changes nothing.
func repeatCapture(p *program) {
	s, one := &p.payments, p.payments.some(p)
	if one == nil || one.lastCapture.ID == "" {
		return
	}

	err := s.send(p, "repeated capture", func(ctx context.Context, c *machine) error {
		_, err := c.payments.Capture(ctx, one.id, one.lastCapture)
		return err
	})
	if err != nil {
		p.fail("the repeated capture %+v of %+v: %v", one.lastCapture, one, err)
	}
}

func refund(p *program) {
	s, one := &p.payments, p.payments.some(p)
	if one == nil {
		return
	}

	open := one.captured - one.refunded
	r := s.next(p, one, 1+p.dice.Int64N(one.amount))
	if r.Amount <= open && one.payee.available < r.Amount {
		return // the payee has spent it
	}

	err := s.send(p, "refund", func(ctx context.Context, c *machine) error {
		_, err := c.payments.Refund(ctx, one.id, r)
		return err
	})

	if r.Amount > open {
		if !errors.Is(err, payments.ErrExceeded) && !errors.Is(err, payments.ErrState) {
			p.fail("refund %+v of %+v: %v", r, one, err)
		}

		return
	}

	if err != nil {
		p.fail("refund %+v of %+v: %v", r, one, err)
	}
	one.release() // a refund gives up the amount that was not captured
	one.refunded += r.Amount
	one.payee.available -= r.Amount
	one.payer.available += r.Amount
}

func void(p *program) {
	s, one := &p.payments, p.payments.some(p)
	if one == nil || one.captured > 0 || one.closed {
		return
	}

	err := s.send(p, "void", func(ctx context.Context, c *machine) error {
		_, err := c.payments.Void(ctx, one.id)
		return err
	})
	if err != nil {
		p.fail("void %+v: %v", one, err)
	}
	one.release()
}

// send makes a call, again as long as the processor gives no answer.
func (s *paymentsModel) send(p *program, name string, do func(context.Context, *machine) error) error {
	var err error
	for range 5 {
		if err = p.call(name, do); !errors.Is(err, payments.ErrUnresolved) {
			break
		}
	}

	return err
}

func comparePayment(p *program) {
	if one := p.payments.some(p); one != nil {
		p.payments.compare(p, one)
	}
}

func (s *paymentsModel) compare(p *program, one *payment) {
	got, err := p.store.machines[1].payments.Get(p.t.Context(), one.id)
	if err != nil || got.Captured != one.captured || got.Refunded != one.refunded || got.Capturable != one.capturable || got.Pending != nil {
		p.fail("payment %+v, %v; want %+v", got, err, one)
	}
}

func (s *paymentsModel) check(p *program) {
	for _, one := range s.all {
		s.compare(p, one)
	}
}
