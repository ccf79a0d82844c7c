package reactions_test

import (
	"testing"

	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestANotificationHasTheCauseOfItsTransition, as the stream's record has it.
func TestANotificationHasTheCauseOfItsTransition(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)

	want := transitions.Cause{Code: "out-of-stock", Text: "out of stock: mug, wanted 2, 1 left", Actor: "execution:o-1", Source: "execution"}
	record := s.change(t, func() {
		r := transitions.Request{OrderID: "o-1", Event: workflow.Cancel, TransitionID: 2, Cause: want}
		if _, err := orders.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	})
	handle(t, handlers[reactions.NotifyHandler], record)

	if len(s.notices) != 1 || s.notices[0].Cause != want {
		t.Errorf("%+v", s.notices)
	}
}
