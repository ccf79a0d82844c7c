package server_test

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The worker lists orders that are older than the lists, and then follows the stream.
func TestTheWorkerKeepsTheListsOfOrders(t *testing.T) {
	s := newShop(t, func(c *server.Config) { c.OrderLists = true })

	for _, id := range []transitions.OrderID{"o-1", "o-2", "acme:o-1"} {
		n := mug
		n.ID = id

		if _, err := s.Orders.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	if r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	for _, row := range []struct {
		owner string
		state workflow.State
		want  string
	}{
		{"", "", "o-2 o-1"},
		{"", workflow.OnHold, "o-1"},
		{"", workflow.Pending, "o-2"},
		{"acme", workflow.Pending, "acme:o-1"},
	} {
		s.env.Wait(fmt.Sprintf("the list of %q in %q", row.owner, row.state), func() (bool, string, error) {
			page, err := inspect.Listed(t.Context(), s.Orders, s.Lists, row.owner, inspect.Page{State: row.state})

			var ids []string
			for _, o := range page.Orders {
				ids = append(ids, string(o.ID))
			}
			got := strings.Join(ids, " ")

			return !page.Scanned && got == row.want && page.Stale == 0, got, err
		})
	}
}

// Without the setting there is no table, and listing scans.
func TestWithoutListsOrdersAreScanned(t *testing.T) {
	s := newShop(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	page, err := inspect.Listed(t.Context(), s.Orders, s.Lists, "", inspect.Page{})
	if err != nil || !page.Scanned || len(page.Orders) != 1 || s.Lists != nil {
		t.Errorf("%+v, %v", page, err)
	}
}
