package lists_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// TestAPageIsBoundedByTime: for each list and each pair of bounds, in pages of 1, 2 and 9, the list has the orders
// whose time is not before since and before until, newest first.
func TestAPageIsBoundedByTime(t *testing.T) {
	s := newOrderLists(t)
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	now := start
	s.orders = s.Orders(func(c *transitions.Config) { c.Now = func() time.Time { return now } })
	s.lists = s.Lists(s.orders)
	s.customer = "ada"

	var all []*transitions.Order
	for i := range 7 {
		now = start.Add(time.Duration(i) * time.Hour)
		made := s.place(fmt.Sprintf("o-%d", i), workflow.Pay)
		s.record(made...)
		all = append([]*transitions.Order{made[1].New}, all...)
	}

	bounds := []time.Time{{}, start.Add(-time.Hour), start, start.Add(3 * time.Hour), start.Add(150 * time.Minute), start.Add(6 * time.Hour), start.Add(7 * time.Hour)}
	for _, q := range []lists.Query{{}, {State: workflow.PaymentReceived}, {Customer: "ada"}, {State: workflow.Shipped}} {
		for _, q.Since = range bounds {
			for _, q.Until = range bounds {
				for _, q.Limit = range []int{1, 2, 9} {
					var want, got []transitions.OrderID
					for _, o := range all {
						if !o.CreatedAt.Before(q.Since) && (q.Until.IsZero() || o.CreatedAt.Before(q.Until)) && q.State != workflow.Shipped {
							want = append(want, o.ID)
						}
					}

					for q.After = ""; ; {
						page, err := s.lists.Page(t.Context(), q)
						if err != nil {
							t.Fatal(err)
						}

						for _, o := range page.Orders {
							got = append(got, o.ID)
						}

						if q.After = page.Next; q.After == "" {
							break
						}
					}

					if !slices.Equal(got, want) {
						t.Errorf("%+v: %v, want %v", q, got, want)
					}
				}
			}
		}
	}
}
