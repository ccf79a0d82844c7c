package transitions_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestNoEditIsAppliedAfterPayment lets edits race with the payment. The order must keep
// the content that the result of the payment shows.
func TestNoEditIsAppliedAfterPayment(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, 100 })

		for n := range 10 {
			id := transitions.OrderID(fmt.Sprintf("o-%d", n))
			s.place(t, id)
			var paid transitions.Result

			var group sync.WaitGroup
			for i := range 10 {
				group.Go(func() {
					r, err := s.AddItems(t.Context(), edit(id, fmt.Sprint(i)), cup)
					if err != nil || (r.Verdict != transitions.Applied && r.Verdict != transitions.WrongState) {
						t.Errorf("edit: %s, %v", r.Verdict, err)
					}

					if r.Verdict == transitions.Applied && r.Order.State != workflow.Pending {
						t.Errorf("an order was edited when it was %s", r.Order.State)
					}
				})
			}
			group.Go(func() {
				var err error
				if paid, err = s.Apply(t.Context(), given(id, workflow.Pay, 2)); err != nil || paid.Verdict != transitions.Applied {
					t.Errorf("pay: %s, %v", paid.Verdict, err)
				}
			})
			group.Wait()

			now, _, err := s.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}

			if now.ContentVersion != paid.Order.ContentVersion || now.Total != paid.Order.Total || len(now.Items) != len(paid.Order.Items) {
				t.Errorf("paid at version %d for %d, the order is at version %d for %d", paid.Order.ContentVersion, paid.Order.Total.Amount, now.ContentVersion, now.Total.Amount)
			}

			if want := 2500 + 1200*now.ContentVersion; now.Total.Amount != want || len(now.Items) != 1+int(now.ContentVersion) {
				t.Errorf("after %d edits the total is %d, want %d", now.ContentVersion, now.Total.Amount, want)
			}
		}
	})
}

// TestChangeItemChangesTheFirstLineWithTheSKU removes a line after the caller has read the
// order. An equal line is then where the first one was, but it is not the first.
func TestChangeItemChangesTheFirstLineWithTheSKU(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1") // mugs
	tea := transitions.Item{SKU: "tea", Quantity: 1, Price: 300}
	seen := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e1"), tea, tea)).Order
	edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "e2"), "mug"))
	e := edit("o-1", "e3")
	e.Seen = seen

	tea.Quantity = 5
	got := edited(t, transitions.Applied)(s.ChangeItem(t.Context(), e, tea)).Order.Items
	if len(got) != 2 || got[0].Quantity != 5 || got[1].Quantity != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestTwoEditsThatForgetTheSameTraceKeepTheMemoryBounded: both were planned on the same order
// and remove its oldest trace. The second one makes no room that way.
func TestTwoEditsThatForgetTheSameTraceKeepTheMemoryBounded(t *testing.T) {
	const memory = 4

	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = memory })
	s.place(t, "o-1")
	note := func(e transitions.Edit) *transitions.Order {
		t.Helper()
		return edited(t, transitions.Applied)(s.AddNote(t.Context(), e, transitions.Note{Text: "call before delivery"})).Order
	}

	var full *transitions.Order
	for i := range memory {
		full = note(edit("o-1", fmt.Sprint("e", i)))
	}

	for i := range memory {
		e := edit("o-1", fmt.Sprint("late-", i))
		e.Seen = full
		note(e)

		traces := s.Item(t, "o-1")["processedEvents"].(*types.AttributeValueMemberM).Value
		if n := len(traces) / 2; n > memory {
			t.Errorf("after %d edits with an outdated order it remembers %d edits, at most %d", i+1, n, memory)
		}

		// The oldest edits were forgotten: the edits that came meanwhile are remembered.
		for j := range i + 1 {
			edited(t, transitions.Replayed)(s.AddNote(t.Context(), edit("o-1", fmt.Sprint("late-", j)), transitions.Note{Text: "call before delivery"}))
		}
	}
}
