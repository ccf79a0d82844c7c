package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/once/ledger"
	"ratchet/payments"
)

// What a rule allows to the last unit is allowed, and one unit more is refused with an error
// that names the field and the rule.
func TestRequestsHaveBounds(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)
	s.charged(t, "c", 100)

	if _, err := s.Refund(t.Context(), "c", ask("r", 40)); err != nil {
		t.Fatal(err)
	}

	open := func(change func(*payments.NewPayment)) func() error {
		return func() error {
			n := of("new", 1)
			change(&n)
			_, err := s.Authorize(t.Context(), n)

			return err
		}
	}
	list := func(limit int) func() error {
		return func() error { _, _, err := s.List(t.Context(), "", "", limit); return err }
	}
	parked := func(limit int) func() error {
		return func() error { _, _, err := s.Parked(t.Context(), "", limit); return err }
	}
	sweep := func(after string, limit int) func() error {
		return func() error { _, err := s.Recover(t.Context(), after, limit); return err }
	}
	receive := func(kind, key string, amount int64) func() error {
		return func() error { _, err := s.send(t, s.Payments, "evt", body(kind, key, amount, "EUR")); return err }
	}

	for _, c := range []struct {
		name string
		do   func() error
		want error
		says string
	}{
		{"an order of 256 bytes", open(func(n *payments.NewPayment) { n.ID, n.OrderID = "long", strings.Repeat("o", 256) }), nil, ""},
		{"an order of 257 bytes", open(func(n *payments.NewPayment) { n.OrderID = strings.Repeat("o", 257) }), payments.ErrInvalid, "orderId: 1 to 256 bytes"},
		{"an id of 81", open(func(n *payments.NewPayment) { n.ID = strings.Repeat("i", 81) }), nil, ""},
		{"an id of 82", open(func(n *payments.NewPayment) { n.ID = strings.Repeat("i", 82) }), payments.ErrInvalid, "id: 1 to 81 of"},
		{"the largest amount", open(func(n *payments.NewPayment) { n.ID, n.Amount = "most", ledger.MaxAmount }), nil, ""},
		{"one unit more", open(func(n *payments.NewPayment) { n.Amount = ledger.MaxAmount + 1 }), payments.ErrInvalid, "amount 1000000000000001: 1 to 1000000000000000"},
		{"an amount of 0", open(func(n *payments.NewPayment) { n.Amount = 0 }), payments.ErrInvalid, "amount 0"},
		{"an amount below 0", open(func(n *payments.NewPayment) { n.Amount = -1 }), payments.ErrInvalid, "amount -1"},
		{"a payee that is no account", open(func(n *payments.NewPayment) { n.Payee = "a b" }), payments.ErrInvalid, "account"},
		{"a capture of the largest amount", func() error { _, err := s.Capture(t.Context(), "most", ask("c", ledger.MaxAmount)); return err }, nil, ""},
		{"a capture of one unit more", func() error { _, err := s.Capture(t.Context(), "most", ask("d", ledger.MaxAmount+1)); return err }, payments.ErrInvalid, "amount 1000000000000001: 1 to 1000000000000000"},
		{"a capture of more than is held", func() error { _, err := s.Capture(t.Context(), "p", ask("c", 101)); return err }, payments.ErrExceeded, "100 of 100 may be captured"},
		{"a step of 36", func() error { _, err := s.Capture(t.Context(), "p", ask(strings.Repeat("s", 36), 1)); return err }, nil, ""},
		{"a step of 37", func() error { _, err := s.Capture(t.Context(), "p", ask(strings.Repeat("s", 37), 1)); return err }, payments.ErrInvalid, "id: 1 to 36 of"},
		{"a refund of more than is left", func() error { _, err := s.Refund(t.Context(), "c", ask("r-2", 61)); return err }, payments.ErrExceeded, "60 may be refunded"},
		{"a refund of what is left", func() error { _, err := s.Refund(t.Context(), "c", ask("r-3", 60)); return err }, nil, ""},
		{"a final refund", func() error {
			_, err := s.Refund(t.Context(), "c", payments.StepRequest{ID: "r-4", Amount: 1, Final: true})
			return err
		}, payments.ErrInvalid, "final: only of a capture"},
		{"a list of 1000", list(1000), nil, ""},
		{"a list of 1001", list(1001), payments.ErrInvalid, "limit 1001: 1 to 1000"},
		{"no parked ones", parked(0), payments.ErrInvalid, "limit 0: 1 to 1000"},
		{"one parked one", parked(1), nil, ""},
		{"1000 parked ones", parked(1000), nil, ""},
		{"1001 parked ones", parked(1001), payments.ErrInvalid, "limit 1001: 1 to 1000"},
		{"a sweep of none", sweep("", 0), payments.ErrInvalid, "limit 0: 1 to 1000"},
		{"a sweep of 1000", sweep("", 1000), nil, ""},
		{"a sweep of 1001", sweep("", 1001), payments.ErrInvalid, "limit 1001: 1 to 1000"},
		{"a sweep from the first kind", sweep("steps|", 1), nil, ""},
		{"a sweep from the last kind", sweep("expiry|", 1), nil, ""},
		{"a sweep from another kind", sweep("holds|", 1), payments.ErrInvalid, "after: what the call before returned"},
		{"a callback of 1 unit", receive("payment.failed", "p/c", 1), nil, ""},
		{"a callback of nothing", receive("payment.failed", "p/c", 0), payments.ErrCallback, "data.amount: 1 to 1000000000000000"},
		{"a callback of the largest amount", receive("payment.failed", "p/c", ledger.MaxAmount), nil, ""},
		{"a callback of one unit more", receive("payment.failed", "p/c", ledger.MaxAmount+1), payments.ErrCallback, "data.amount: 1 to 1000000000000000"},
		{"a callback of another step", receive("payment.failed", "p/"+strings.Repeat("s", 37), 1), payments.ErrCallback, "data.key: paymentId/stepId"},
		{"a callback without data", func() error { _, err := s.send(t, s.Payments, "evt", []byte(`{"type":"payment.failed"}`)); return err }, payments.ErrCallback, "data.key: paymentId/stepId"},
		{"a type of 100 bytes", receive(strings.Repeat("t", 100), "p/c", 1), nil, ""},
		{"a type of 101 bytes", receive(strings.Repeat("t", 101), "p/c", 1), payments.ErrCallback, "type: 1 to 100 bytes"},
		{"a body of 64 KiB", func() error { _, err := s.send(t, s.Payments, "evt", padded(64<<10)); return err }, nil, ""},
		{"a body of one byte more", func() error { _, err := s.send(t, s.Payments, "evt", padded(64<<10+1)); return err }, payments.ErrCallback, "more than 65536 bytes"},
	} {
		if err := c.do(); !errors.Is(err, c.want) || c.want == nil && err != nil || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v, %q", c.name, err, c.want, c.says)
		}
	}
}

// padded is a callback of that many bytes.
func padded(size int) []byte {
	const text = `{"type":"payment.news"}`

	return []byte(text + strings.Repeat(" ", size-len(text)))
}

// The content of a step is all that the caller asked for.
func TestAStepWithOtherContentIsAConflict(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)

	if _, err := s.Capture(t.Context(), "p", payments.StepRequest{ID: "c", Amount: 40, Final: true}); err != nil {
		t.Fatal(err)
	}

	for _, r := range []payments.StepRequest{ask("c", 40), {ID: "c", Amount: 41, Final: true}} {
		if _, err := s.Capture(t.Context(), "p", r); !errors.Is(err, payments.ErrConflict) || !strings.Contains(err.Error(), "payment p, step c") {
			t.Errorf("%+v: %v", r, err)
		}
	}

	if p, err := s.Capture(t.Context(), "p", payments.StepRequest{ID: "c", Amount: 40, Final: true}); err != nil || p.Captured != 40 {
		t.Errorf("again: %+v, %v", p, err)
	}
}

// A suspense account belongs to its account and has an id of at most 128 characters. A longer one has a
// digest, so that two accounts have two.
func TestASuspenseAccountHasAnID(t *testing.T) {
	for length, want := range map[int]string{
		119: strings.Repeat("w", 119) + ".suspense",
		120: strings.Repeat("w", 98) + ".0c7785cc5684e3acd538.suspense",
		128: strings.Repeat("w", 98) + ".d84a714f014043714e26.suspense",
	} {
		s := newSeller(t)
		payer := strings.Repeat("w", length)
		s.create(t, ledger.NewAccount{ID: payer})

		if _, err := s.ledger.Post(t.Context(), ledger.Move("in", "clearing", payer, 100, "EUR")); err != nil {
			t.Fatal(err)
		}

		n := of("p", 100)
		n.Payer = payer
		if _, err := s.Charge(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, "p", ask("r", 60)); return err })
		s.closeAccount(t, payer)

		if p, err := s.Refund(t.Context(), "p", ask("r", 60)); err != nil || p.Steps[len(p.Steps)-1].Reason != "credited to "+want {
			t.Errorf("%d characters: %+v, %v", length, p, err)
		}
		s.has(t, want, 60, 0)
	}
}

// maxCancels is how many refunds of Cancel a processor may decline.
const maxCancels = 100

// A cancellation whose refunds are declined over and over ends with an error.
func TestCancelGivesUpAfterManyDeclinedRefunds(t *testing.T) {
	s := newSeller(t)
	s.charged(t, "p", 1000)
	s.bank.declineRefunds.Store(true)

	var err error
	for i := 1; i <= 50+maxCancels; i++ {
		if _, err = s.Cancel(t.Context(), "p"); !errors.Is(err, payments.ErrDeclined) {
			t.Fatalf("refund %d: %v", i, err)
		}
	}

	p, err := s.Cancel(t.Context(), "p")
	if !errors.Is(err, payments.ErrExceeded) || !strings.Contains(err.Error(), "100 refunds were declined") {
		t.Errorf("%v", err)
	}

	if last := p.Steps[len(p.Steps)-1].ID; last != fmt.Sprint("cancel-", 50+maxCancels) || p.Pending != nil {
		t.Errorf("%s was the last step, %+v is pending", last, p.Pending)
	}
}

// A transfer of the ledger belongs to a step of a payment if its id says so.
func TestATransferNamesItsStep(t *testing.T) {
	for id, want := range map[string]string{
		"p/c#payment": "p/c",
		"p/c":         "",
		"p/c#other":   "",
	} {
		key, kind, ok := payments.ParseTransfer(ledger.Transfer{ID: id, Reference: "payment capture"})
		if key != want || ok != (want != "") || ok && kind != payments.Capturing || !ok && kind != "" {
			t.Errorf("%s: %q, %q, %v", id, key, kind, ok)
		}
	}
}

// A sweep whose caller has left ends with an error, and leaves no payment out in silence.
func TestASweepEndsWithItsCaller(t *testing.T) {
	s := newSeller(t)
	pendingCaptures(t, s, "p")

	ctx, leave := context.WithCancel(t.Context())
	defer leave()

	s.bank.set(true, leave)
	defer s.bank.set(false, nil)

	if r, err := s.Recover(ctx, "", 100); !errors.Is(err, payments.ErrUnresolved) || len(r.Left) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
