package payments_test

import (
	"encoding/json"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
)

// TestEachStepCostsWhatItsPageSays compares the costs with docs/reference/costs.md.
func TestEachStepCostsWhatItsPageSays(t *testing.T) {
	s := newSeller(t)
	s.wire.parts = nil
	count := func(do func() error) (parts []int) {
		t.Helper()
		s.wire.parts = nil

		if err := do(); err != nil {
			t.Fatal(err)
		}

		return s.wire.parts
	}
	n := of("p", 1000)
	n.Payee, n.Payer = "till", "wallet" // accounts without shards
	s.fund(t, "wallet", 1000)

	charged := n
	charged.ID, charged.Payer = "charged", "clearing" // whose shards are one each

	for _, c := range []struct {
		what       string
		do         func() error
		begin, end int // write units: two for each part
	}{
		{"authorize", func() error { _, err := s.Authorize(t.Context(), n); return err }, 8, 4},
		{"capture", func() error {
			_, err := s.Capture(t.Context(), "p", payments.StepRequest{ID: "c", Amount: 900, Final: true})
			return err
		}, 4, 16},
		{"charge at once", func() error { _, err := s.Charge(t.Context(), charged); return err }, 4, 14},
		{"refund", func() error { _, err := s.Refund(t.Context(), "p", ask("r", 100)); return err }, 10, 16},
	} {
		if parts := count(c.do); len(parts) != 2 || 2*parts[0] != c.begin || 2*parts[1] != c.end {
			t.Errorf("%s: transactions of %v parts, want %d and %d units", c.what, parts, c.begin, c.end)
		}
	}
}

// countParts records the number of parts of a transaction.
func (w *wire) countParts(c *embeddedtest.Call) error {
	if !c.Is("dynamodb.TransactWriteItems") {
		return nil
	}

	var in struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(c.Body(), &in); err != nil {
		return err
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	w.parts = append(w.parts, len(in.TransactItems))

	return nil
}
