package transitions_test

import (
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestATransitionMayDependOnTheContent: a request for a content that was edited since is
// refused and writes nothing, also when the edit comes between its read and its write.
func TestATransitionMayDependOnTheContent(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")

		change := func(event string, quantity int64) {
			t.Helper()

			e := transitions.Edit{OrderID: "o-1", EventID: transitions.RequestID(event)}
			if r, err := s.ChangeItem(t.Context(), e, transitions.Item{SKU: "mug", Quantity: quantity, Price: 1250}); err != nil || r.Verdict != transitions.Applied {
				t.Fatal(r.Verdict, err)
			}
		}
		pay := keyed("o-1", workflow.Pay, "paid")
		pay.TransitionID, pay.IfContent = 2, new(int64)

		change("e-1", 3)

		if r := s.want(t, pay, transitions.WrongState); r.Reason == "" || r.Order.State != workflow.Pending {
			t.Errorf("edited before: %q, %s", r.Reason, r.Order.State)
		}

		// The edit comes after the order was read.
		one := int64(1)
		pay.IfContent = &one

		raced := false
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if !raced && c.Is(moves...) {
				raced = true
				change("e-2", 4)
			}

			return nil
		})
		s.want(t, pay, transitions.WrongState)

		two := int64(2)
		pay.IfContent = &two
		s.want(t, pay, transitions.Applied)

		// An applied request is found again, whatever content version the repeat names.
		pay.IfContent = &one
		s.want(t, pay, transitions.Replayed)
	})
}

// TestAContentThatWasNeverEditedHasVersionZero: the item does not have the number then.
func TestAContentThatWasNeverEditedHasVersionZero(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")

		pay := given("o-1", workflow.Pay, 2)
		one := int64(1)
		pay.IfContent = &one

		if r := s.want(t, pay, transitions.WrongState); r.Reason != "the content has version 0, the request is for 1" {
			t.Errorf("reason %q", r.Reason)
		}
		pay.IfContent = new(int64)
		s.Wire.Reset()
		s.want(t, pay, transitions.Applied)

		if s.Wire.Count(moves...) != 1 {
			t.Errorf("calls %v", s.Wire.Calls())
		}
	})
}
