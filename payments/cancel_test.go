package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/workflow"
)

// pendingCapture leaves a capture of 600 of 1000 that the processor has made without an
// answer.
func (s *seller) pendingCapture(t testing.TB) {
	t.Helper()
	s.authorized(t, "p", 1000)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, "p", ask("c", 600)); return err })

	if _, err := s.sandbox.Capture(t.Context(), payments.Request{Key: "p/c", Authorization: "p/authorize", OrderID: "o-p", Amount: 600, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
}

// TestCancelGivesEverythingBackAndClosesThePayment cancels payments in every state.
func TestCancelGivesEverythingBackAndClosesThePayment(t *testing.T) {
	for name, c := range map[string]struct {
		before             func(*testing.T, *seller)
		state              workflow.State
		captured, refunded int64
	}{
		"none":               {func(*testing.T, *seller) {}, "VOIDED", 0, 0},
		"charged":            {func(t *testing.T, s *seller) { s.charged(t, "p", 1000) }, "REFUNDED", 1000, 1000},
		"charging":           {func(t *testing.T, s *seller) { s.pendingCharge(t, of("p", 1000)) }, "VOIDED", 0, 0},
		"authorized":         {func(t *testing.T, s *seller) { s.authorized(t, "p", 1000) }, "VOIDED", 0, 0},
		"captured":           {func(t *testing.T, s *seller) { s.captured(t, "p", 1000) }, "REFUNDED", 1000, 1000},
		"capturing":          {func(t *testing.T, s *seller) { s.pendingCapture(t) }, "REFUNDED", 600, 600},
		"partially captured": {func(t *testing.T, s *seller) { s.authorized(t, "p", 1000); s.mustCapture(t, 700) }, "REFUNDED", 700, 700},
		"partially refunded": {func(t *testing.T, s *seller) { s.charged(t, "p", 1000); s.mustRefund(t, 300) }, "REFUNDED", 1000, 1000},
		"refunded":           {func(t *testing.T, s *seller) { s.charged(t, "p", 1000); s.mustRefund(t, 1000) }, "REFUNDED", 1000, 1000},
		"a capture that is declined": {func(t *testing.T, s *seller) {
			s.authorized(t, "p", 1000)
			s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, "p", ask("c", 600)); return err })
			s.bank.answerCaptures(payments.ErrDeclined)
		}, "FAILED", 0, 0},
		"refunding": {func(t *testing.T, s *seller) {
			s.charged(t, "p", 1000)
			s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, "p", ask("r", 400)); return err })
		}, "REFUNDED", 1000, 1000},
		"voided": {func(t *testing.T, s *seller) {
			s.authorized(t, "p", 1000)

			if _, err := s.Void(t.Context(), "p"); err != nil {
				t.Fatal(err)
			}
		}, "VOIDED", 0, 0},
		"failed": {func(t *testing.T, s *seller) {
			s.setBank(100, 0)

			if _, err := s.Charge(t.Context(), of("p", 1000)); !errors.Is(err, payments.ErrDeclined) {
				t.Fatal(err)
			}
		}, "FAILED", 0, 0},
		"expired": {func(t *testing.T, s *seller) { s.expired(t) }, "VOIDED", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeller(t)
			c.before(t, s)

			revision := int64(0)
			for i := range 2 {
				p, err := s.Cancel(t.Context(), "p")
				if err != nil || !p.Canceled || p.Pending != nil || i == 1 && p.Revision != revision {
					t.Errorf("%+v, %v", p, err)
				}
				revision = p.Revision
			}

			s.is(t, "p", c.state, c.captured, c.refunded)
			s.has(t, "clearing", 0, 0)
			s.has(t, "shop", 0, 0)

			late := of("p", 1000)
			if _, err := s.Charge(t.Context(), late); !errors.Is(err, payments.ErrVoided) && !errors.Is(err, payments.ErrConflict) {
				t.Errorf("a late charge: %v", err)
			}

			if name == "expired" {
				late.ExpiresAt = s.time().Add(-time.Minute)
			}

			if _, err := s.Authorize(t.Context(), late); !errors.Is(err, payments.ErrVoided) && !errors.Is(err, payments.ErrConflict) {
				t.Errorf("a late authorization: %v", err)
			}

			if _, err := s.Capture(t.Context(), "p", ask("late", 1)); !errors.Is(err, payments.ErrState) {
				t.Errorf("a late capture: %v", err)
			}
			s.has(t, "clearing", 0, 0)
			s.sound(t)
		})
	}
}

func (s *seller) mustCapture(t testing.TB, amount int64) {
	t.Helper()

	if _, err := s.Capture(t.Context(), "p", ask("c", amount)); err != nil {
		t.Fatal(err)
	}
}

func (s *seller) mustRefund(t testing.TB, amount int64) {
	t.Helper()

	if _, err := s.Refund(t.Context(), "p", ask("r", amount)); err != nil {
		t.Fatal(err)
	}
}

// expired leaves an authorization of 1000 that has expired.
func (s *seller) expired(t testing.TB) {
	t.Helper()

	n := of("p", 1000)
	n.ExpiresAt = s.time().Add(time.Minute)
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.now.Add(2 * time.Minute.Milliseconds())

	if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Expired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestLateChargeOfACanceledPaymentIsVoided names the error of each opening step under an id
// that is closed.
func TestLateChargeOfACanceledPaymentIsVoided(t *testing.T) {
	s := newSeller(t)
	s.charged(t, "charged", 1000)
	s.authorized(t, "authorized", 1000)

	for _, id := range []string{"none", "charged", "authorized"} {
		if _, err := s.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}

	for _, id := range []string{"none", "charged"} {
		if _, err := s.Charge(t.Context(), of(id, 1000)); !errors.Is(err, payments.ErrVoided) {
			t.Errorf("charge %s: %v", id, err)
		}
	}

	for _, id := range []string{"none", "authorized"} {
		if _, err := s.Authorize(t.Context(), of(id, 1000)); !errors.Is(err, payments.ErrVoided) {
			t.Errorf("authorize %s: %v", id, err)
		}
	}

	// Under the id of a payment that there was, other content is a conflict as before.
	for _, id := range []string{"charged", "authorized"} {
		_, charge := s.Charge(t.Context(), of(id, 999))
		_, authorize := s.Authorize(t.Context(), of(id, 999))

		for _, err := range []error{charge, authorize} {
			if !errors.Is(err, payments.ErrConflict) {
				t.Errorf("%s with another amount: %v", id, err)
			}
		}
	}

	if _, err := s.Cancel(t.Context(), "a b"); !errors.Is(err, payments.ErrInvalid) || !strings.HasPrefix(err.Error(), "cancel: ") {
		t.Errorf("a bad id: %v", err)
	}

	if asked := s.bank.asked["none/charge"] + s.bank.asked["none/authorize"]; asked != 0 {
		t.Errorf("the processor was asked %d times", asked)
	}
}

func TestCancelGoesOnAfterAnOutage(t *testing.T) {
	for name, before := range map[string]func(*seller){
		"charged":  func(s *seller) { s.charged(t, "p", 1000) },
		"charging": func(s *seller) { s.pendingCharge(t, of("p", 1000)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeller(t)
			before(s)
			s.bank.set(true, nil)

			for range 2 {
				if _, err := s.Cancel(t.Context(), "p"); !errors.Is(err, payments.ErrUnresolved) {
					t.Errorf("%v", err)
				}

				// The payment is closed from the first attempt on.
				if _, err := s.Charge(t.Context(), of("p", 1000)); !errors.Is(err, payments.ErrVoided) {
					t.Errorf("a late charge: %v", err)
				}
			}
			s.bank.set(false, nil)

			if _, err := s.Cancel(t.Context(), "p"); err != nil {
				t.Error(err)
			}
			s.has(t, "clearing", 0, 0)
			s.has(t, "shop", 0, 0)
			s.sound(t)
		})
	}
}

// TestCancelTriesADeclinedRefundAgain has a processor that declines the first refund and a
// payee that cannot pay the second.
func TestCancelTriesADeclinedRefundAgain(t *testing.T) {
	s := newSeller(t)
	s.charged(t, "p", 1000)
	s.bank.declineRefunds.Store(true)

	if p, err := s.Cancel(t.Context(), "p"); !errors.Is(err, payments.ErrDeclined) || !strings.Contains(err.Error(), "step cancel") || p.State != "CAPTURED" {
		t.Errorf("%+v, %v", p, err)
	}
	s.bank.declineRefunds.Store(false)

	if _, err := s.ledger.Post(t.Context(), ledger.Move("out", "shop", "clearing", 1, "EUR")); err != nil {
		t.Fatal(err)
	}

	var refusal *ledger.RefusedError
	if _, err := s.Cancel(t.Context(), "p"); !errors.Is(err, ledger.ErrInsufficientFunds) || !errors.As(err, &refusal) || refusal.Account != "shop" {
		t.Errorf("%v", err)
	}
	s.fund(t, "shop", 1)

	if p, err := s.Cancel(t.Context(), "p"); err != nil || p.State != "REFUNDED" || p.Steps[len(p.Steps)-1].ID != "cancel-2" {
		t.Errorf("%+v, %v", p, err)
	}
	s.has(t, "clearing", 0, 0)
	s.sound(t)
}

// TestCancelIsNotLimited cancels a payment that has as many refunds as a caller may make.
func TestCancelIsNotLimited(t *testing.T) {
	s := newSeller(t)
	s.charged(t, "p", 1000)

	for i := range 50 {
		if _, err := s.Refund(t.Context(), "p", ask(fmt.Sprint("r-", i), 1)); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.Refund(t.Context(), "p", ask("more", 1)); !errors.Is(err, payments.ErrExceeded) {
		t.Errorf("one more refund: %v", err)
	}

	if p, err := s.Cancel(t.Context(), "p"); err != nil || p.State != "REFUNDED" {
		t.Errorf("%+v, %v", p, err)
	}
	s.has(t, "clearing", 0, 0)
}
