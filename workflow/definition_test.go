package workflow_test

import (
	"strings"
	"testing"

	"ratchet/workflow"
)

// twoStates is the smallest legal spec; each row below breaks one thing in it.
func twoStates() workflow.Spec {
	return workflow.Spec{
		Name: "t", Version: 1, Place: "place", Initial: "A",
		States:      []workflow.StateSpec{{State: "A"}, {State: "B", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "go", From: []workflow.State{"A"}, To: "B"}},
	}
}

func TestNewRefusesABrokenSpecAndNamesTheFault(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(*workflow.Spec)
		want  string
	}{
		{"versions count from 1", func(s *workflow.Spec) { s.Version = 0 }, "versions count from 1"},
		{"a name outside the alphabet", func(s *workflow.Spec) { s.States[0].State = "A B" }, `state "A B": names match`},
		{"a state listed twice", func(s *workflow.Spec) { s.States = append(s.States, s.States[0]) }, "state A is listed twice"},
		{"an unknown initial state", func(s *workflow.Spec) { s.Initial = "X" }, `initial state "X"`},
		{"an unknown target", func(s *workflow.Spec) { s.Transitions[0].To = "X" }, `leads to "X"`},
		{"an unknown source", func(s *workflow.Spec) { s.Transitions[0].From = []workflow.State{"X"} }, `starts from "X"`},
		{"no source", func(s *workflow.Spec) { s.Transitions[0].From = nil }, "has no source"},
		{"the same pair twice", func(s *workflow.Spec) { s.Transitions = append(s.Transitions, s.Transitions[0]) }, "event go from A is defined twice"},
		{"the place event as a transition", func(s *workflow.Spec) { s.Transitions[0].Event = "place" }, "creates orders"},
		{"a state nothing reaches", func(s *workflow.Spec) {
			s.States = append(s.States, workflow.StateSpec{State: "C", Terminal: true})
		}, "state C cannot be reached"},
		{"a dead end", func(s *workflow.Spec) { s.States[1].Terminal = false }, "state B is a dead end"},
		{"a terminal state that is left", func(s *workflow.Spec) {
			s.Transitions = append(s.Transitions, workflow.Transition{Event: "back", From: []workflow.State{"B"}, To: "A"})
		}, "state B is terminal, but"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			spec := twoStates()
			row.spoil(&spec)

			_, err := workflow.New(spec)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("New: got error %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestOrderMovesAsTheMissionSays(t *testing.T) {
	rows := []struct {
		from  workflow.State
		event workflow.Event
		to    workflow.State
	}{
		{workflow.Pending, workflow.Pay, workflow.PaymentReceived},
		{workflow.PaymentReceived, workflow.Ship, workflow.Shipped},
		{workflow.Shipped, workflow.Deliver, workflow.Delivered},
		{workflow.PaymentReceived, workflow.Cancel, workflow.Cancelled},
		{workflow.PaidOnHold, workflow.Release, workflow.PaymentReceived},
		{workflow.OnHold, workflow.Release, workflow.Pending},
		{workflow.PartiallyShipped, workflow.ShipPart, workflow.PartiallyShipped},
		{workflow.Shipped, workflow.Cancel, ""},
		{workflow.Pending, workflow.Ship, ""},
		{workflow.Delivered, workflow.Pay, ""},
		{workflow.Pending, "no_such_event", ""},
		{"NO_SUCH_STATE", workflow.Pay, ""},
	}
	for _, row := range rows {
		to, ok := workflow.Order().Next(row.from, row.event)
		if to != row.to || ok != (row.to != "") {
			t.Errorf("%s + %s: got %q %v, want %q", row.from, row.event, to, ok, row.to)
		}
	}
}

func TestGroupsShareATarget(t *testing.T) {
	groups := workflow.Order().Groups(workflow.Hold)
	if len(groups) != 2 {
		t.Fatalf("hold leads to two targets, got %v", groups)
	}

	if g := workflow.Order().Groups(workflow.Cancel); len(g) != 1 || len(g[0].From) != 4 {
		t.Fatalf("cancel has four sources and one target, got %v", g)
	}

	if g := workflow.Order().Groups("nothing"); g != nil {
		t.Fatalf("an unknown event has no group, got %v", g)
	}
}

func TestReachableKnowsWhatCanStillHappen(t *testing.T) {
	d := workflow.Order()
	if !d.Reachable(workflow.PaidOnHold, workflow.Shipped) {
		t.Error("a held order can still be shipped")
	}

	if d.Reachable(workflow.Cancelled, workflow.Shipped) {
		t.Error("a cancelled order can never be shipped")
	}

	if !d.Reachable(workflow.Cancelled, workflow.Cancelled) {
		t.Error("a state reaches itself")
	}
}

func BenchmarkNext(b *testing.B) {
	d := workflow.Order()
	b.ReportAllocs()

	for b.Loop() {
		if _, ok := d.Next(workflow.Pending, workflow.Pay); !ok {
			b.Fatal("refused")
		}
	}
}
