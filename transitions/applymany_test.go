package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

//raced:here
func TestApplyManyKeepsTheSequenceOfEachOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		const orders = 30
		var requests []transitions.Request

		for i := range orders {
			s.place(t, transitions.OrderID(fmt.Sprintf("o-%d", i)))
		}

		path := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}
		for n, event := range path { // the orders' requests lie apart in the list
			for i := range orders {
				requests = append(requests, given(transitions.OrderID(fmt.Sprintf("o-%d", i)), event, transitions.TransitionID(n+2)))
			}
		}
		requests = append(requests, given("missing", workflow.Pay, 2), given("o-0", workflow.Pay, 2))

		var mu sync.Mutex
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()

			running += n
			most = max(most, running)
		}
		s.Wire.Around(func(_ *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
			count(1)
			defer count(-1)

			return send()
		})

		outcomes, err := s.ApplyMany(t.Context(), requests, 4)
		if err != nil || len(outcomes) != len(requests) {
			t.Fatalf("%d outcomes, error %v", len(outcomes), err)
		}

		for i, got := range outcomes[:orders*len(path)] {
			if got.Err != nil || got.Verdict != transitions.Applied || got.Transition.ID != requests[i].TransitionID || got.Order.ID != requests[i].OrderID {
				t.Errorf("request %d %+v: %s, error %v", i, requests[i], got.Verdict, got.Err)
			}
		}

		if a, b := outcomes[len(outcomes)-2], outcomes[len(outcomes)-1]; a.Verdict != transitions.NotFound || b.Verdict != transitions.Replayed {
			t.Errorf("the last two: %s, %s", a.Verdict, b.Verdict)
		}

		if most > 4 {
			t.Errorf("%d requests at a time, want at most 4", most)
		}
	})
}

func TestAnErrorStopsOnlyItsOrder(t *testing.T) {
	s := newOrders(t)
	s.place(t, "bad")
	s.place(t, "good")
	requests := []transitions.Request{
		given("bad", workflow.Ship, 2), // refused: that stops nothing
		{OrderID: "bad", Event: workflow.Pay, TransitionID: -1},
		given("good", workflow.Pay, 2),
		given("bad", workflow.Pay, 3),
		given("good", workflow.Ship, 3),
	}

	outcomes, err := s.ApplyMany(t.Context(), requests, 2)
	if err != nil {
		t.Fatal(err)
	}

	if outcomes[0].Verdict != transitions.WrongState || outcomes[2].Verdict != transitions.Applied || outcomes[4].Verdict != transitions.Applied {
		t.Errorf("verdicts %s, %s, %s", outcomes[0].Verdict, outcomes[2].Verdict, outcomes[4].Verdict)
	}

	if !errors.Is(outcomes[1].Err, transitions.ErrInvalidRequest) || !errors.Is(outcomes[3].Err, transitions.ErrNotSent) || !transitions.Retryable(outcomes[3].Err) {
		t.Errorf("errors %v, %v", outcomes[1].Err, outcomes[3].Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	outcomes, err = s.ApplyMany(ctx, requests[2:4], 1)
	if err != nil || !errors.Is(outcomes[0].Err, transitions.ErrNotSent) || !errors.Is(outcomes[1].Err, context.Canceled) {
		t.Errorf("a context that has ended: %+v, %v", outcomes, err)
	}

	if _, err := s.ApplyMany(t.Context(), requests, 0); err == nil || !strings.Contains(err.Error(), "concurrency 0") {
		t.Errorf("no concurrency: %v", err)
	}

	if outcomes, err := s.ApplyMany(t.Context(), nil, 1); err != nil || len(outcomes) != 0 {
		t.Errorf("no requests: %v, %v", outcomes, err)
	}
}

func TestTheConcurrencyOfManyRequestsHasBounds(t *testing.T) {
	s := newOrders(t)
	for concurrency, valid := range map[int]bool{0: false, 1: true, 1024: true, 1025: false} {
		if _, err := s.ApplyMany(t.Context(), nil, concurrency); valid != (err == nil) || !valid && !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("%d: %v", concurrency, err)
		}
	}
}
