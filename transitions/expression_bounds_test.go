package transitions_test

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// guardedBy returns a definition whose event go has n guards of 100 values.
func guardedBy(t *testing.T, n int) *workflow.Definition {
	t.Helper()

	var list []any
	for i := range 100 {
		list = append(list, fmt.Sprint("value-", i))
	}

	var guards []workflow.Guard
	for i := range n {
		guards = append(guards, workflow.Guard{Name: fmt.Sprint("g", i), Attribute: fmt.Sprint("a", i), Op: "in", Value: list})
	}

	d, err := workflow.New(workflow.Spec{Name: "w", Version: 1, Place: "place", Initial: "A", Content: []workflow.Part{},
		States:      []workflow.StateSpec{{State: "A"}, {State: "B", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "go", From: []workflow.State{"A"}, To: "B", Guards: guards}}})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// TestWhatNewAcceptsCanBeSent: New refuses, by the event's name, a definition whose guards make a condition
// that DynamoDB would refuse, and the engine takes the write of every definition that New accepts.
func TestWhatNewAcceptsCanBeSent(t *testing.T) {
	accepted := 0
	for n := range 9 {
		s := newOrders(t)
		cfg := transitions.Config{DynamoDB: s.DB, Table: "orders", RequestsTable: "requests", Definition: guardedBy(t, n)}

		if _, err := transitions.New(cfg); err != nil {
			if !strings.Contains(err.Error(), "event go to B: its states and guards make a condition of ") {
				t.Errorf("%d guards: %v", n, err)
			}

			continue
		}
		accepted++
		s.reconfigure(func(c *transitions.Config) { c.Definition = cfg.Definition })

		if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1"}); err != nil {
			t.Fatal(err)
		}

		r := keyed("o-1", "go", "r")
		r.TransitionID = 2

		if result, err := s.Apply(t.Context(), r); err != nil || n > 0 && result.Verdict != transitions.WrongState {
			t.Errorf("%d guards: %s, %v", n, result.Verdict, err)
		}
	}

	if accepted < 3 || accepted > 7 {
		t.Errorf("%d of 9 definitions are accepted", accepted)
	}
}
