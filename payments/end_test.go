package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/embedded/faults"
	"ratchet/once/txn"
	"ratchet/payments"
)

// expires opens the payment p-1 of 100, which expires in an hour.
func (s *seller) expires(t testing.TB) {
	t.Helper()

	n := of("p-1", 100)
	n.ExpiresAt = s.time().Add(time.Hour)

	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

func (s *seller) pass(d time.Duration) { s.now.Add(d.Milliseconds()) }

// After the end, a call answers the same, whether Recover has come before or not, and whether the end
// has passed before the call or during it.
func TestNoAnswerDependsOnRecover(t *testing.T) {
	for _, captured := range []bool{false, true} {
		for name, call := range map[string]func(*seller) (payments.Payment, error){
			"Capture": func(s *seller) (payments.Payment, error) { return s.Capture(t.Context(), "p-1", ask("c-2", 10)) },
			"Void":    func(s *seller) (payments.Payment, error) { return s.Void(t.Context(), "p-1") },
			"Cancel":  func(s *seller) (payments.Payment, error) { return s.Cancel(t.Context(), "p-1") },
			"Refund":  func(s *seller) (payments.Payment, error) { return s.Refund(t.Context(), "p-1", ask("r-1", 40)) },
		} {
			if name == "Refund" && !captured {
				continue // nothing to refund: no write, and ErrState in each case
			}

			var want string

			for _, way := range []string{"recovered", "not recovered", "the end passes during the call"} {
				s := newSeller(t)
				s.expires(t)

				if captured {
					if _, err := s.Capture(t.Context(), "p-1", ask("c-1", 40)); err != nil {
						t.Fatal(err)
					}
				}

				if way == "the end passes during the call" {
					first := true
					s.faults.Before(func(c *embeddedtest.Call) error {
						if !first || !c.Is("TransactWriteItems") {
							return nil
						}
						first = false
						s.pass(48 * time.Hour)

						return &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"}
					})
				} else {
					s.pass(48 * time.Hour)
				}

				if way == "recovered" {
					if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Expired != 1 {
						t.Fatalf("%+v, %v", r, err)
					}
				}

				_, err := call(s)
				_, _ = s.Recover(t.Context(), "", 10)

				got := fmt.Sprint(err == nil, errors.Is(err, payments.ErrState), errors.Is(err, payments.ErrExpired))
				if p, err := s.Get(t.Context(), "p-1"); err != nil {
					t.Error(err)
				} else {
					got += fmt.Sprint(" ", p.State, p.Capturable, p.Captured, p.Refunded)
				}

				if way == "recovered" {
					want = got
				} else if got != want {
					t.Errorf("%s, captured %t, %s: %s (%v), after Recover %s", name, captured, way, got, err, want)
				}

				if name == "Capture" && !errors.Is(err, payments.ErrExpired) {
					t.Errorf("captured %t, %s: %v", captured, way, err)
				}
			}
		}
	}
}

// onAClock returns the payments of a machine whose clock is ahead of the service's.
func (s *seller) onAClock(ahead time.Duration) *payments.Payments {
	return s.kit.Payments(s.ledger, s.bank, func(c *payments.Config) {
		options := s.direct.Options()
		options.APIOptions, options.HTTPClient = nil, embeddedtest.Dated{Doer: options.HTTPClient, Now: s.time}
		c.DynamoDB, c.Now = dynamodb.New(options), func() time.Time { return s.time().Add(ahead) }
	})
}

func TestAWrongClockExpiresNoPaymentEarlyAndCapturesNoneLate(t *testing.T) {
	for _, ahead := range []time.Duration{-72 * time.Hour, 72 * time.Hour} {
		s := newSeller(t)
		s.expires(t)

		if r, err := s.onAClock(ahead).Recover(t.Context(), "", 10); err != nil || r.Expired != 0 {
			t.Errorf("%s ahead: %+v, %v", ahead, r, err)
		}

		if _, err := s.onAClock(ahead).Capture(t.Context(), "p-1", ask("c-1", 10)); err != nil {
			t.Errorf("%s ahead, before the end: %v", ahead, err)
		}

		s.pass(48 * time.Hour)

		if _, err := s.onAClock(ahead).Capture(t.Context(), "p-1", ask("c-2", 10)); !errors.Is(err, payments.ErrExpired) {
			t.Errorf("%s ahead, after the end: %v", ahead, err)
		}

		if r, err := s.onAClock(ahead).Recover(t.Context(), "", 10); err != nil || r.Expired != 1 {
			t.Errorf("%s ahead: %+v, %v", ahead, r, err)
		}
	}
}

// TestAPaymentThatIsNotDueByAClockThatWasSetBackIsNotReported: the clock is set back after the due rows were
// read. The payment is left for the next sweep, and a person is not told of it.
func TestAPaymentThatIsNotDueByAClockThatWasSetBackIsNotReported(t *testing.T) {
	s := newSeller(t)
	s.expires(t)
	s.pass(48 * time.Hour)

	first := true
	s.faults.Before(func(c *embeddedtest.Call) error {
		if first && c.Is("GetItem") {
			first = false
			s.pass(-48 * time.Hour)
		}

		return nil
	})

	if r, err := s.Recover(t.Context(), "", 10); err != nil || first || r.Expired != 0 || len(r.Left) != 0 {
		t.Errorf("%+v, %v, set back: %t", r, err, !first)
	}

	s.pass(48 * time.Hour)

	if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Expired != 1 {
		t.Errorf("after the end: %+v, %v", r, err)
	}
}

// flaky carries out the first request without an answer, and refuses the later ones.
type flaky struct {
	*bank
	refusal error
	silent  bool // it answers no look-up
	calls   int
}

func (f *flaky) Sale(ctx context.Context, r payments.Request) (string, error) {
	if f.calls++; f.calls > 1 {
		return "", f.refusal
	}

	if _, err := f.bank.Sale(ctx, r); err != nil {
		return "", err
	}

	return "", payments.ErrTimeout
}

func (f *flaky) Lookup(ctx context.Context, key string) (payments.Operation, error) {
	if f.silent || f.calls < 2 {
		return payments.Operation{}, errDown
	}

	return f.bank.Lookup(ctx, key)
}

func TestARefusalAfterAnUnansweredRequestIsNoProofThatNothingWasCharged(t *testing.T) {
	for _, refusal := range []error{payments.ErrDeclined, payments.ErrExpired, payments.ErrConflict, payments.ErrVoided} {
		s := newSeller(t)
		bank := &flaky{bank: s.bank, refusal: refusal, silent: true}
		pay := s.with(s.ledger, bank)

		if p, err := pay.Charge(t.Context(), of("p-1", 100)); !errors.Is(err, payments.ErrUnresolved) {
			t.Errorf("%v: %+v, %v", refusal, p, err)
		}

		// Another worker goes on: its first request is refused.
		if p, err := pay.Charge(t.Context(), of("p-1", 100)); !errors.Is(err, payments.ErrUnresolved) {
			t.Errorf("%v, repeated: %+v, %v", refusal, p, err)
		}

		bank.silent = false

		if p, err := pay.Charge(t.Context(), of("p-1", 100)); err != nil || p.Captured != 100 {
			t.Errorf("%v, looked up: %+v, %v", refusal, p, err)
		}
	}
}

// refusing declines every void.
type refusing struct{ *bank }

func (refusing) Void(context.Context, string) error { return payments.ErrDeclined }

func TestADeclinedVoidReleasesNothing(t *testing.T) {
	s := newSeller(t)
	s.expires(t)

	p, err := s.with(s.ledger, refusing{s.bank}).Void(t.Context(), "p-1")
	if !errors.Is(err, payments.ErrUnresolved) || p.Capturable != 100 || p.State == "VOIDED" {
		t.Errorf("%+v, %v", p, err)
	}
}

// The bank has charged, and DynamoDB refuses the writes that follow.
func TestACarriedOutStepThatCannotBeStoredIsUnresolved(t *testing.T) {
	for _, first := range []error{&embeddedtest.Error{Code: "AccessDeniedException"}, faults.ErrAnswerLost} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeller(t)
			n := 0
			s.faults.Before(func(c *embeddedtest.Call) error {
				if !c.Is("TransactWriteItems") {
					return nil
				}

				switch n++; n {
				case 1: // the step begins
					return nil
				case 2:
					return first
				}

				return &embeddedtest.Error{Code: "AccessDeniedException"}
			})

			_, err := s.Charge(t.Context(), of("p-1", 100))
			if !errors.Is(err, payments.ErrUnresolved) || errors.Is(first, faults.ErrAnswerLost) != errors.Is(err, txn.ErrUnknown) {
				t.Errorf("after %v: %v", first, err)
			}
			s.faults.Before(nil)

			if p, err := s.Charge(t.Context(), of("p-1", 100)); err != nil || p.Captured != 100 {
				t.Errorf("repeated: %+v, %v", p, err)
			}
		})
	}
}

// An expiry waits for the pending step, and is not forgotten.
func TestAPendingStepDoesNotEndTheExpiry(t *testing.T) {
	s := newSeller(t)
	s.expires(t)
	s.bank.set(true, nil)

	if _, err := s.Capture(t.Context(), "p-1", ask("c-1", 40)); !errors.Is(err, payments.ErrUnresolved) {
		t.Fatal(err)
	}
	s.pass(48 * time.Hour)

	if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Finished+r.Expired != 0 || len(r.Left) != 1 {
		t.Errorf("while the processor is down: %+v, %v", r, err)
	}
	s.bank.set(false, nil)
	s.pass(15 * time.Second)

	if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Finished != 1 || r.Expired != 1 {
		t.Errorf("after that: %+v, %v", r, err)
	}
	s.has(t, "clearing", -40, 0)
	s.sound(t)
}
