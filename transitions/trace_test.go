package transitions_test

import (
	"context"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestATransitionHasTheTraceOfItsBeginning: what Events.Begin returns is stored in place of the cause's
// trace, of a placing, a transition and a parcel, and found in the records of the stream.
func TestATransitionHasTheTraceOfItsBeginning(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		const given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		var begun []string
		var ended []transitions.Verdict

		s := newOrdersIn(t, mode)
		s.reconfigure(func(c *transitions.Config) {
			c.Journal = mode
			c.Events.Begin = func(ctx context.Context, id transitions.OrderID, event workflow.Event, trace string) (context.Context, string, func(transitions.Result, error)) {
				begun = append(begun, string(id)+" "+string(event)+" "+trace)

				return ctx, given, func(r transitions.Result, err error) {
					if err != nil {
						t.Error(err)
					}
					ended = append(ended, r.Verdict)
				}
			}
		})

		s.place(t, "o-1")
		placed := s.Item(t, "o-1")

		r := s.want(t, because(fullCause, keyed("o-1", workflow.Pay, "pay-1")), transitions.Applied)
		paid := s.Item(t, "o-1")

		if r.Transition.Cause.Trace != given || r.Order.Cause.Text != fullCause.Text {
			t.Errorf("got %+v", r.Order.Cause)
		}

		if trace, previous, moved := (transitions.Mapping{}).Traces(nil, placed); trace != given || previous != "" || !moved {
			t.Errorf("placed: %q, %q, %t", trace, previous, moved)
		}

		if trace, previous, moved := (transitions.Mapping{}).Traces(placed, paid); trace != given || previous != given || !moved {
			t.Errorf("paid: %q, %q, %t", trace, previous, moved)
		}

		// An edit is no transition, and neither is a removal.
		if _, _, moved := (transitions.Mapping{}).Traces(paid, paid); moved {
			t.Error("an order that was not moved has moved")
		}

		if _, _, moved := (transitions.Mapping{}).Traces(paid, nil); moved {
			t.Error("an order that was removed has moved")
		}

		if _, err := s.ShipParcel(t.Context(), transitions.Parcel{OrderID: "o-1", ID: "p-1", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}}); err != nil {
			t.Fatal(err)
		}

		if trace, _, _ := (transitions.Mapping{}).Traces(paid, s.Item(t, "o-1")); trace != given {
			t.Errorf("shipped: %q", trace)
		}

		if len(begun) != 3 || begun[1] != "o-1 pay "+fullCause.Trace || len(ended) != 3 || ended[2] != transitions.Applied {
			t.Errorf("begun %q, ended %v", begun, ended)
		}
	}
}
