package lists_test

import (
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// placeAs places an order with the reference and lists it.
func (s *orderLists) placeAs(reference, customer string, id transitions.OrderID) {
	s.t.Helper()

	result, err := s.orders.Create(s.t.Context(), transitions.NewOrder{
		ID: id, Total: transitions.Money{Currency: "EUR"}, Reference: reference, Customer: customer,
	})
	if err != nil {
		s.t.Fatal(err)
	}

	s.record(transitions.Change{New: result.Order, Transition: result.Transition})
}

func TestOrdersAreListedByReference(t *testing.T) {
	s := newOrderLists(t)
	s.placeAs("R-1", "c-1", "a")
	s.placeAs("R-2", "c-1", "b")
	s.placeAs("R-1", "c-2", "c")
	s.placeAs("R-1", "", "acme:d")

	for _, row := range []struct {
		query lists.Query
		want  string
	}{
		{lists.Query{Reference: "R-1"}, "c a"},
		{lists.Query{Reference: "R-2"}, "b"},
		{lists.Query{Reference: "R-3"}, ""},
		{lists.Query{Reference: "R-1", Customer: "c-1"}, "a"},
		{lists.Query{Reference: "R-1", State: workflow.Shipped}, ""},
		{lists.Query{Reference: "R-1", Owner: "acme"}, "acme:d"},
	} {
		row.query.Limit = 10

		page, err := s.lists.Page(t.Context(), row.query)
		if err != nil || page.Stale != 0 {
			t.Fatalf("%+v: %d stale, %v", row.query, page.Stale, err)
		}

		var ids []string
		for _, o := range page.Orders {
			ids = append(ids, string(o.ID))
		}

		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("%+v: %s, want %s", row.query, got, row.want)
		}
	}
}
