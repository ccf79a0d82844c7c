package steps_test

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/payments"
	"ratchet/transitions"
)

// TestAStepActsOnTheLifeOfItsExecution: the order's id was used again, or the order was renewed, while an
// execution of the life before waited. Its steps fail for good, and change nothing.
func TestAStepActsOnTheLifeOfItsExecution(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.place(t)

	before, _, err := s.orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	order := `{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}}`
	for step, input := range map[string]string{
		"accept":     `{"order":` + order + `,"started":"then","incarnation":%q}`,
		"pay":        `{"orderId":"o-1","incarnation":%q,"transitionId":2}`,
		"look":       `{"orderId":"o-1","incarnation":%q,"started":"then"}`,
		"compensate": `{"orderId":"o-1","incarnation":%q}`,
		"place":      `{"order":` + order + `,"started":"then","incarnation":%q}`,
		"apply":      `{"orderId":"o-1","incarnation":%q,"event":"cancel","transitionId":2}`,
	} {
		if _, err := s.run(t, step, fmt.Sprintf(input, "0000000000001")); name(err) != "Order.OtherLife" {
			t.Errorf("%s: %v", step, err)
		}
	}

	// The input of a successor has the life in it.
	adopting := `{"order":{"orderId":"o-1","total":{"amount":5,"currency":"EUR"},"adopt":true,"incarnation":"0000000000001"},"started":"then"}`
	for _, step := range []string{"accept", "place"} {
		if _, err := s.run(t, step, adopting); name(err) != "Order.OtherLife" {
			t.Errorf("%s of a successor: %v", step, err)
		}
	}

	after, _, err := s.orders.Get(t.Context(), "o-1")
	if err != nil || after.TransitionID != before.TransitionID {
		t.Errorf("the order has moved to %s, %v", after.State, err)
	}

	if _, err := s.payments.Get(t.Context(), payments.IDForOrder(s.life(t))); !errors.Is(err, payments.ErrUnknownPayment) {
		t.Errorf("the payment: %v", err)
	}

	if _, err := s.run(t, "look", fmt.Sprintf(`{"orderId":"o-1","incarnation":%q,"started":"then"}`, before.Incarnation)); err != nil {
		t.Errorf("look at the execution's own life: %v", err)
	}
}

// TestAnExecutionPlacesItsOrderOnce: an order that was deleted is not placed again by an execution that
// had accepted it.
func TestAnExecutionPlacesItsOrderOnce(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)

	for _, step := range []string{"accept", "place"} {
		input := `{"order":{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}},"started":"then","incarnation":"0000000000001"}`
		if _, err := s.run(t, step, input); name(err) != "Order."+transitions.NotFound.String() {
			t.Errorf("%s: %v", step, err)
		}
	}

	if _, found, err := s.orders.Get(t.Context(), "o-1"); found || err != nil {
		t.Errorf("the order exists: %t, %v", found, err)
	}
}
