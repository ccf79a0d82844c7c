package payments_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/once/ledger"
	"ratchet/payments"
)

// stories are what a worker does in one go.
var stories = map[string]struct {
	before func(*testing.T, *seller)
	do     func(context.Context, *seller) error
	// open means that Recover ends a step that the story would overtake: only the money
	// must be the same.
	open bool
}{
	"authorize": {before: func(*testing.T, *seller) {}, do: func(ctx context.Context, s *seller) error { _, err := s.Authorize(ctx, of("p", 1000)); return err }},
	"decline": {before: func(t *testing.T, s *seller) { s.setBank(100, 0) }, do: func(ctx context.Context, s *seller) error {
		_, err := s.Authorize(ctx, of("p", 1000))
		if errors.Is(err, payments.ErrDeclined) {
			return nil
		}

		return err
	}},
	"capture": {before: func(t *testing.T, s *seller) { s.authorized(t, "p", 1000) },
		do: func(ctx context.Context, s *seller) error { _, err := s.Capture(ctx, "p", ask("c", 400)); return err }},
	"last capture": {before: func(t *testing.T, s *seller) { s.authorized(t, "p", 1000) }, do: func(ctx context.Context, s *seller) error {
		_, err := s.Capture(ctx, "p", payments.StepRequest{ID: "c", Amount: 400, Final: true})
		return err
	}},
	"capture refused": {before: func(t *testing.T, s *seller) {
		s.authorized(t, "p", 1000)

		if err := s.sandbox.Void(t.Context(), "p/authorize"); err != nil {
			t.Fatal(err)
		}
	}, do: func(ctx context.Context, s *seller) error {
		_, err := s.Capture(ctx, "p", ask("c", 400))
		if errors.Is(err, payments.ErrVoided) {
			return nil
		}

		return err
	}},
	"void": {before: func(t *testing.T, s *seller) { s.authorized(t, "p", 1000) },
		do: func(ctx context.Context, s *seller) error { _, err := s.Void(ctx, "p"); return err }},
	"refund": {before: func(t *testing.T, s *seller) { s.captured(t, "p", 1000) },
		do: func(ctx context.Context, s *seller) error { _, err := s.Refund(ctx, "p", ask("r", 600)); return err }},
	"refund with a rest": {before: func(t *testing.T, s *seller) {
		s.authorized(t, "p", 1000)

		if _, err := s.Capture(t.Context(), "p", ask("c", 700)); err != nil {
			t.Fatal(err)
		}
	}, do: func(ctx context.Context, s *seller) error { _, err := s.Refund(ctx, "p", ask("r", 600)); return err }},
	"charge": {before: func(*testing.T, *seller) {}, do: func(ctx context.Context, s *seller) error { _, err := s.Charge(ctx, of("p", 1000)); return err }},
	"charge from a wallet": {before: func(t *testing.T, s *seller) { s.fund(t, "wallet", 1000) }, do: func(ctx context.Context, s *seller) error {
		_, err := s.Charge(ctx, fromWallet("p", 1000))
		return err
	}},
	"charge declined": {before: func(t *testing.T, s *seller) { s.setBank(100, 0) }, do: func(ctx context.Context, s *seller) error {
		_, err := s.Charge(ctx, of("p", 1000))
		if errors.Is(err, payments.ErrDeclined) {
			return nil
		}

		return err
	}},
	"cancel nothing":           {before: func(*testing.T, *seller) {}, do: cancel},
	"cancel an authorization":  {before: func(t *testing.T, s *seller) { s.authorized(t, "p", 1000) }, do: cancel},
	"cancel a charge":          {before: func(t *testing.T, s *seller) { s.charged(t, "p", 1000) }, do: cancel},
	"cancel a pending charge":  {before: func(t *testing.T, s *seller) { s.pendingCharge(t, of("p", 1000)) }, do: cancel, open: true},
	"cancel a pending capture": {before: func(t *testing.T, s *seller) { s.pendingCapture(t) }, do: cancel},
	"cancel what was captured in part": {before: func(t *testing.T, s *seller) {
		s.authorized(t, "p", 1000)

		if _, err := s.Capture(t.Context(), "p", ask("c", 700)); err != nil {
			t.Fatal(err)
		}
	}, do: cancel},
}

func cancel(ctx context.Context, s *seller) error { _, err := s.Cancel(ctx, "p"); return err }

// money is the part of a summary with the balances of the accounts.
func money(summary string) string { return summary[strings.Index(summary, " clearing"):] }

// summary describes the final state of the payment and the accounts.
func (s *seller) summary(t *testing.T) string {
	t.Helper()

	p, err := s.Get(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}

	text := fmt.Sprint(p.State, p.Captured, p.Refunded, p.Capturable, p.Pending == nil, len(p.Steps))
	for _, id := range []string{"clearing", "shop", "wallet"} {
		a, _, err := s.ledger.Account(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprint(" ", id, a.Balance, a.Held)
	}

	return text
}

var allPoints = flag.Bool("all-points", false, "recover and repeat after a crash at every call (make long)")

// TestCrashAtAnyCallEndsAsWithoutACrash kills the worker at its first, second, ...
// call to DynamoDB or the processor, before and after the call was carried out. Then
// another worker recovers, or the caller repeats: either way the end is the same, and
// the processor has done each thing once.
func TestCrashAtAnyCallEndsAsWithoutACrash(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			whole := newSeller(t)
			story.before(t, whole)
			whole.fuse.set(0, false)

			if err := story.do(t.Context(), whole); err != nil {
				t.Fatal(err)
			}

			calls := whole.fuse.calls
			want := whole.summary(t)
			if calls < 2 {
				t.Fatalf("%d calls", calls)
			}

			for at := 1; at <= calls; at++ {
				for _, after := range []bool{false, true} {
					for _, repeat := range []bool{false, true} {
						if !*allPoints && repeat == (at%2 == 0) {
							continue // each call in one of the two ways
						}

						s := newSeller(t)
						story.before(t, s)
						s.fuse.set(at, after)
						ctx, die := context.WithCancel(t.Context())
						s.fuse.die = die
						err := story.do(ctx, s)
						die()
						s.fuse.set(0, false)

						if err == nil {
							t.Fatalf("call %d: the worker did not die", at)
						}
						s.now.Add(time.Minute.Milliseconds())

						if !repeat {
							if r, err := s.Recover(t.Context(), "", 100); err != nil || len(r.Left) > 0 {
								t.Fatalf("call %d, after %v: recover: %+v, %v", at, after, r, err)
							}
							s.sound(t)

							if p, err := s.Get(t.Context(), "p"); err == nil && p.Pending != nil {
								t.Errorf("call %d, after %v: still under way: %+v", at, after, p)
							}
						}
						// Whether or not it was recovered, the caller brings it again.
						if err := story.do(t.Context(), s); err != nil {
							t.Fatalf("call %d, after %v, repeat %v: %v", at, after, repeat, err)
						}

						if got := s.summary(t); got != want && (!story.open || money(got) != money(want)) {
							t.Errorf("call %d, after %v, repeat %v: %s, want %s", at, after, repeat, got, want)
						}
						s.sound(t)
					}
				}
			}
		})
	}
}

func TestLedgerAndPaymentChangeTogether(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 1000)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, "p", ask("r", 600)); return err })

	// Another component releases the hold of the refund under the name of the payments. The
	// refund must fail and not guess.
	owned, err := s.ledger.Owned("payment")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := owned.Release(t.Context(), "shop", "p/r"); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Refund(t.Context(), "p", ask("r", 600)); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}
