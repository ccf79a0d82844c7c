package transitions_test

import (
	"errors"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnOrderKeepsItsCustomer: through transitions and edits, in the journal's modes both.
func TestAnOrderKeepsItsCustomer(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}, Customer: "c-1"}

		placed, err := s.Create(t.Context(), n)
		if err != nil || placed.Order.Customer != "c-1" {
			t.Fatal(placed.Order, err)
		}

		moved, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2})
		if err != nil || moved.Order.Customer != "c-1" {
			t.Fatal(moved.Order, err)
		}

		other := n
		other.Customer = "c-2"
		none := n
		none.Customer = ""

		for want, n := range map[transitions.Verdict][]transitions.NewOrder{transitions.Replayed: {n}, transitions.Conflict: {other, none}} {
			for _, n := range n {
				if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != want || r.Order.Customer != "c-1" {
					t.Errorf("again for %q: %s for %q, %v, want %s", n.Customer, r.Verdict, r.Order.Customer, err, want)
				}
			}
		}
	})
}

func TestCustomersAreReferences(t *testing.T) {
	for customer, valid := range map[string]bool{
		"c-1":                    true,
		"Crm:7.4_x":              true,
		strings.Repeat("c", 100): true,
		strings.Repeat("c", 101): false,
		"ann@example.org":        false,
		"Ann Example":            false,
		"c/1":                    false,
		"c#1":                    false,
		"\u00e9":                 false,
		"c-1\n":                  false,
	} {
		err := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}, Customer: customer}.Validate()
		if valid != (err == nil) || err != nil && (!errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "customer")) {
			t.Errorf("%q: %v", customer, err)
		}

		if err != nil && strings.Contains(err.Error(), customer) {
			t.Errorf("the error repeats what may be personal data: %v", err)
		}
	}
}
