package transitions_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"ratchet/transitions"
)

// Forty people change forty lines of one order at once. Each change needs the order as it is, so only one of
// them can be next; the others wait and come back.
func TestConcurrentEditsOfOneOrderAllSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that a slow machine does not make the waits too short
		const callers = 40

		s := newOrders(t)

		var items []transitions.Item
		for i := range callers {
			items = append(items, transitions.Item{SKU: fmt.Sprint("s-", i), Quantity: 1, Price: 1})
		}

		if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: items, Total: transitions.Money{Amount: callers, Currency: "EUR"}}); err != nil {
			t.Fatal(err)
		}

		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				r, err := s.ChangeItem(t.Context(), edit("o-1", fmt.Sprint("e-", i)), transitions.Item{SKU: fmt.Sprint("s-", i), Quantity: 2, Price: 1})
				if err != nil || r.Verdict != transitions.Applied {
					t.Errorf("%s, %v", r.Verdict, err)
				}
			})
		}
		wg.Wait()

		if order, _, err := s.Get(t.Context(), "o-1"); err != nil || order.ContentVersion != callers || order.Total.Amount != 2*callers {
			t.Errorf("content version %d, total %+v, %v", order.ContentVersion, order.Total, err)
		}
	})
}
