package lists_test

import (
	"slices"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// placeFor places an order of the customer, and then what place does.
func (s *orderLists) placeFor(customer, id string, events ...workflow.Event) []transitions.Change {
	s.t.Helper()
	s.customer = customer
	defer func() { s.customer = "" }()

	return s.place(id, events...)
}

// ofCustomer returns the ids of a customer's orders, read in pages of n.
func (s *orderLists) ofCustomer(owner, customer string, state workflow.State, n int) string {
	s.t.Helper()

	var all []string
	for after := ""; ; {
		page, err := s.lists.Page(s.t.Context(), lists.Query{Owner: owner, Customer: customer, State: state, After: after, Limit: n})
		if err != nil || page.Stale != 0 || len(page.Orders) > n {
			s.t.Fatalf("%d orders, %d stale, %v", len(page.Orders), page.Stale, err)
		}

		for _, o := range page.Orders {
			if o.Customer != customer {
				s.t.Errorf("%s is an order of %q", o.ID, o.Customer)
			}
			all = append(all, string(o.ID))
		}

		if after = page.Next; after == "" {
			return strings.Join(all, " ")
		}
	}
}

func TestOrdersAreListedByCustomer(t *testing.T) {
	s := newOrderLists(t)
	s.record(s.placeFor("c-1", "a")...)
	s.record(s.placeFor("c-2", "b", workflow.Hold)...)
	s.record(s.placeFor("c-1", "c", workflow.Hold)...)
	s.record(s.place("d")...)
	s.record(s.placeFor("c-1", "e", workflow.Hold, workflow.Release)...)
	s.record(s.placeFor("c-1", "acme:a")...)

	for _, row := range []struct {
		owner, customer string
		state           workflow.State
		want            string
	}{
		{"", "c-1", "", "e c a"},
		{"", "c-1", workflow.Pending, "e a"},
		{"", "c-1", workflow.OnHold, "c"},
		{"", "c-1", workflow.Shipped, ""},
		{"", "c-2", "", "b"},
		{"", "c-3", "", ""},
		{"acme", "c-1", "", "acme:a"},
		{"acme", "c-2", "", ""},
	} {
		for _, n := range []int{1, 2, 100} {
			if got := s.ofCustomer(row.owner, row.customer, row.state, n); got != row.want {
				t.Errorf("orders of %q, customer %q, in %q, pages of %d: %s, want %s", row.owner, row.customer, row.state, n, got, row.want)
			}
		}
	}

	s.want("", "", "e d c b a")
}

func TestRebuildListsCustomers(t *testing.T) {
	s := newOrderLists(t)
	s.placeFor("c-1", "a", workflow.Hold)

	if _, err := s.lists.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	if got := s.ofCustomer("", "c-1", workflow.OnHold, 10); got != "a" {
		t.Errorf("%q", got)
	}
}

// Only placing writes the row of a customer.
func TestACustomerCostsOneRow(t *testing.T) {
	s := newOrderLists(t)
	changes := s.placeFor("c-1", "a", workflow.Hold)
	before := 0

	for i, want := range []int{4, 0} {
		s.record(changes[i])

		if rows := s.rows(); rows-before != want {
			t.Errorf("change %d: %d more rows, want %d", i, rows-before, want)
		}
		before = s.rows()
	}

	s.Wire.Reset()
	s.record(changes[1])

	if got := s.Wire.Calls(); !slices.Equal(got, []string{"GetItem"}) {
		t.Errorf("a repeat: %v", got)
	}
}
