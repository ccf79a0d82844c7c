package steps_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// causeOf returns the cause of the order's newest transition.
func (s *orderSteps) causeOf(t *testing.T, state workflow.State) transitions.Cause {
	t.Helper()

	o, _, err := s.orders.Get(t.Context(), "o-1")
	if err != nil || o.State != state {
		t.Fatalf("%+v, %v", o, err)
	}

	return o.Cause
}

// TestAnOrderSaysWhyItWasCanceled, whether it was placed before or not.
func TestAnOrderSaysWhyItWasCanceled(t *testing.T) {
	for _, placed := range []bool{false, true} {
		s := newOrderSteps(t, newKit(t), 1)
		s.setStock(t, 1)

		if placed {
			s.place(t)
		}

		if _, err := s.run(t, "accept", accepted); name(err) != "Order.OutOfStock" {
			t.Fatal(err)
		}

		want := transitions.Cause{Code: "out-of-stock", Text: "out of stock: sku-1, wanted 2, 1 left", Actor: "execution:o-1", Source: "execution"}
		if got := s.causeOf(t, workflow.Cancelled); got != want {
			t.Errorf("placed before %v: %+v", placed, got)
		}

		rows, err := s.orders.History(t.Context(), "o-1", 1, 0)
		if err != nil || len(rows) != 1 || rows[0].Cause != want {
			t.Errorf("journal: %+v, %v", rows, err)
		}
	}
}

// TestAnOrderWithManyMissingPiecesIsCanceled: their names have no room in the cause.
func TestAnOrderWithManyMissingPiecesIsCanceled(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)

	n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}}
	for i := range 97 {
		n.Items = append(n.Items, transitions.Item{SKU: fmt.Sprintf("%0128d", i), Quantity: 1000})
	}

	order, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.run(t, "accept", `{"order":`+string(order)+`,"started":"2026-01-01T00:00:00.000Z"}`); name(err) != "Order.OutOfStock" {
		t.Fatal(err)
	}

	if got := s.causeOf(t, workflow.Cancelled); got.Code != "out-of-stock" || !strings.HasPrefix(got.Text, "out of stock: 000") {
		t.Errorf("%+v", got)
	}
}

func TestAnExecutionIsTheActorOfItsTransitions(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 3)

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Fatal(err)
	}

	want := transitions.Cause{Actor: "execution:o-1", Source: "execution"}
	if got := s.causeOf(t, workflow.Pending); got != want {
		t.Errorf("accept: %+v", got)
	}

	if _, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":2}`); err != nil {
		t.Fatal(err)
	}

	if got := s.causeOf(t, workflow.PaymentReceived); got != want {
		t.Errorf("pay: %+v", got)
	}
}
