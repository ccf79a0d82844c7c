package transitions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/transitions"
)

// skus returns a line for each SKU from the first to before the last.
func skus(first, last int) (lines []transitions.Item) {
	for i := first; i < last; i++ {
		lines = append(lines, transitions.Item{SKU: fmt.Sprint("sku-", i), Quantity: 1, Price: 1})
	}

	return lines
}

// placeSKUs places o-1 with the lines.
func (s *orders) placeSKUs(t *testing.T, lines []transitions.Item) {
	t.Helper()

	n := transitions.NewOrder{ID: "o-1", Items: lines, Total: transitions.Money{Amount: int64(len(lines)), Currency: "EUR"}}
	if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}
}

// TestEditsKeepTheLimitOfSKUs: an order has no more SKUs than one transaction can reserve, however
// they came into it. SKUs that the order has already are no new ones.
func TestEditsKeepTheLimitOfSKUs(t *testing.T) {
	s := newOrders(t)
	s.placeSKUs(t, skus(0, 90))
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "up-to-97"), skus(85, 97)...))

	refused := func(name string, err error) {
		t.Helper()

		if what := limitOf(t, err); what != "items: different SKUs" || !strings.Contains(err.Error(), "at most 97") {
			t.Errorf("%s: %v", name, err)
		}
	}

	_, err := s.AddItems(t.Context(), edit("o-1", "the-98th"), skus(97, 98)...)
	refused("the 98th", err)
	refused("in a transaction", s.addSeen(t, edit("o-1", "the-98th-tx"), skus(97, 98)...))
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "known"), skus(0, 97)...))

	if err := s.addSeen(t, edit("o-1", "known-tx"), skus(0, 1)...); err != nil {
		t.Errorf("a known SKU in a transaction: %v", err)
	}

	// What is removed makes room.
	edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "less"), "sku-5"))
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "another"), skus(97, 98)...))

	o, _, err := s.Get(t.Context(), "o-1")
	if err != nil || o.ContentVersion != 5 {
		t.Errorf("version %d, %v", o.ContentVersion, err)
	}

	if _, err := s.AddItems(t.Context(), edit("o-1", "98-at-once"), skus(0, 98)...); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "items: 98 different SKUs, at most 97") {
		t.Errorf("98 at once: %v", err)
	}
}

// addSeen adds the lines in a transaction, a second time with the order as the first refusal
// returned it, as callers of AddItemsIn do.
func (s *orders) addSeen(t *testing.T, e transitions.Edit, lines ...transitions.Item) error {
	t.Helper()
	err := s.addIn(t, e, lines...)

	if refused := (*transitions.EditRefusedError)(nil); errors.As(err, &refused) && refused.Result.Verdict == 0 {
		e.Seen = refused.Result.Order
		err = s.addIn(t, e, lines...)
	}

	return err
}

// TestSKUsThatAreAddedAtOnceAreCountedTogether: two edits, each of which would fit alone. The second
// was planned before the first was made.
func TestSKUsThatAreAddedAtOnceAreCountedTogether(t *testing.T) {
	for name, lines := range map[string][]transitions.Item{
		"few lines":  skus(0, 90),
		"many lines": append(skus(0, 90), skus(0, 90)...),
	} {
		s := newOrders(t)
		s.placeSKUs(t, lines)

		seen, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "first"), skus(90, 95)...))

		second := edit("o-1", "second")
		second.Seen = seen

		if _, err := s.AddItems(t.Context(), second, skus(95, 100)...); limitOf(t, err) != "items: different SKUs" {
			t.Errorf("%s: %v", name, err)
		}
		edited(t, transitions.Applied)(s.AddItems(t.Context(), second, skus(93, 97)...))
	}
}
