package inspect_test

import (
	"errors"
	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestAnOrderAsItWas(t *testing.T) {
	for name, journaled := range map[string]transitions.TransitionID{"all in the journal": 9, "half of it only in the ring": 2, "nothing in the journal": 0} {
		t.Run(name, func(t *testing.T) {
			s, clock := newOrders(t), noon
			s.Orders = s.Shop.Orders(func(c *transitions.Config) { c.Now = func() time.Time { return clock } })
			var old, now map[string]types.AttributeValue
			step := func(id transitions.TransitionID) {
				old, now = now, s.Item(t, "o-1")
				if id <= journaled {
					shop.Record(t, s.Orders, old, now)
				}
				clock = clock.Add(time.Minute)
			}
			s.place(t, "o-1") // 12:00
			step(1)

			for i, r := range []transitions.Request{given("o-1", workflow.Hold, 2), given("o-1", workflow.Release, 5), given("o-1", workflow.Pay, 6)} {
				s.want(t, r, transitions.Applied) // 12:01, 12:02, 12:03
				step(transitions.TransitionID(i + 2))
			}

			rows := []struct {
				at    time.Duration
				after transitions.TransitionID
				state workflow.State
			}{
				{0, 1, workflow.Pending}, {59 * time.Second, 1, workflow.Pending}, {time.Minute, 2, workflow.OnHold},
				{90 * time.Second, 3, workflow.OnHold}, {2 * time.Minute, 5, workflow.Pending}, {time.Hour, 99, workflow.PaymentReceived},
			}
			for _, row := range rows {
				if view, err := inspect.StateAt(t.Context(), s.Orders, "o-1", noon.Add(row.at)); err != nil || view.State != row.state {
					t.Errorf("at 12:00 + %s: %+v, error %v, want %s", row.at, view, err, row.state)
				}

				if view, err := inspect.StateAfter(t.Context(), s.Orders, "o-1", row.after); err != nil || view.State != row.state || view.OrderID != "o-1" {
					t.Errorf("after transition %d: %+v, error %v, want %s", row.after, view, err, row.state)
				}
			}

			if _, err := inspect.StateAt(t.Context(), s.Orders, "o-1", noon.Add(-time.Second)); !errors.Is(err, inspect.ErrBeforeOrder) {
				t.Errorf("before it was placed: %v", err)
			}
		})
	}
}

func TestAViewIsNotGuessed(t *testing.T) {
	s := newOrders(t)
	s.ToAndFro(t, s.Orders, "o-1", 30, 3)

	if _, err := inspect.StateAfter(t.Context(), s.Orders, "o-1", 10); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Errorf("ids 4 to 22 are in neither journal nor ring: %v", err)
	}

	if view, err := inspect.StateAfter(t.Context(), s.Orders, "o-1", 2); err != nil || view.State != workflow.PaymentReceived {
		t.Errorf("what the journal proves is known: %+v, %v", view, err)
	}

	if _, err := inspect.StateAt(t.Context(), s.Orders, "nobody", noon); !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("an unknown order: %v", err)
	}

	if _, err := inspect.StateAt(t.Context(), s.Orders, "a\nb", noon); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("an invalid id: %v", err)
	}
}
