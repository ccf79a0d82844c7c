package api_test

import (
	"net/http"
	"strconv"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// BenchmarkTransition measures one transition: by the Go call, through the handler, and
// refused by the handler.
func BenchmarkTransition(b *testing.B) {
	events := []workflow.Event{workflow.Hold, workflow.Release}
	b.Run("call", func(b *testing.B) {
		s := newAPIServer(b, dev)
		s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

		for i := 0; b.Loop(); i++ {
			r, err := s.cfg.Orders.Apply(b.Context(), transitions.Request{
				OrderID:      "o-1",
				Event:        events[i%2],
				TransitionID: transitions.TransitionID(i + 2),
				RequestID:    transitions.RequestID(strconv.Itoa(i)),
			})
			if err != nil || r.Verdict != transitions.Applied {
				b.Fatalf("verdict %s, %v", r.Verdict, err)
			}
		}
	})
	b.Run("handler", func(b *testing.B) {
		s := newAPIServer(b, dev)
		s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

		for i := 0; b.Loop(); i++ {
			a := s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"`+string(events[i%2])+`","transitionId":`+strconv.Itoa(i+2)+`}`, "Idempotency-Key", strconv.Itoa(i))
			if a.StatusCode != http.StatusOK {
				b.Fatalf("%d %s", a.StatusCode, a.text)
			}
		}
	})
	b.Run("refused", func(b *testing.B) { // measures the checks alone, without storage
		s := newAPIServer(b, dev)
		for b.Loop() {
			s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"fly"}`, "Idempotency-Key", "k")
		}
	})
}
