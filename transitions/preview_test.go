package transitions_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAPreviewSaysWhatApplyAnswersNext: for every event, with the order's next id, a past one and one ahead, the
// preview has the verdict, the id and the target of the Apply that follows, and changes nothing.
func TestAPreviewSaysWhatApplyAnswersNext(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)

		for i, event := range append(workflow.Order().Events(), "unheard_of") {
			for _, n := range []transitions.TransitionID{0, 1, 2, 3, 9} {
				if event == workflow.Order().Place() {
					continue
				}

				id := transitions.OrderID(fmt.Sprintf("o-%d-%d", i, n))
				s.place(t, id)
				s.want(t, given(id, workflow.Pay, 2), transitions.Applied)

				r := given(id, event, n)
				before, _, _ := s.Get(t.Context(), id)

				foreseen, err := s.Preview(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}

				if after, _, err := s.Get(t.Context(), id); err != nil || after.TransitionID != before.TransitionID || after.State != before.State {
					t.Fatalf("%s: the preview has moved the order: %+v, %v", event, after, err)
				}

				if n == 0 {
					r.RequestID = "new"
				}

				made, err := s.Apply(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}

				answers := func(r transitions.Result) string {
					return fmt.Sprint(r.Verdict, r.Transition.ID, r.Transition.From, r.Transition.To, r.Expected, r.Reason)
				}
				if diff := cmp.Diff(answers(made), answers(foreseen)); diff != "" {
					t.Errorf("%s with id %d: %s", event, n, diff)
				}
			}
		}

		if none, err := s.Preview(t.Context(), given("no-order", workflow.Pay, 2)); err != nil || none.Verdict != transitions.NotFound {
			t.Errorf("no order: %+v, %v", none, err)
		}
	})
}
