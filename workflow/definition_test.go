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

func TestWorkerPoint21_ABrokenDefinitionIsRefusedAndTheFaultNamed(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(*workflow.Spec)
		want  string
	}{
		{name: "versions count from 1", spoil: func(s *workflow.Spec) { s.Version = 0 }, want: "versions count from 1"},
		{name: "a name outside the alphabet", spoil: func(s *workflow.Spec) { s.States[0].State = "A B" }, want: `state "A B": names match`},
		{name: "a state listed twice", spoil: func(s *workflow.Spec) { s.States = append(s.States, s.States[0]) }, want: "state A is listed twice"},
		{name: "an unknown initial state", spoil: func(s *workflow.Spec) { s.Initial = "X" }, want: `initial state "X"`},
		{name: "an unknown target", spoil: func(s *workflow.Spec) { s.Transitions[0].To = "X" }, want: `leads to "X"`},
		{name: "an unknown source", spoil: func(s *workflow.Spec) { s.Transitions[0].From = []workflow.State{"X"} }, want: `starts from "X"`},
		{name: "no source", spoil: func(s *workflow.Spec) { s.Transitions[0].From = nil }, want: "has no source"},
		{name: "the same pair twice", spoil: func(s *workflow.Spec) { s.Transitions = append(s.Transitions, s.Transitions[0]) }, want: "event go from A is defined twice"},
		{name: "the place event as a transition", spoil: func(s *workflow.Spec) { s.Transitions[0].Event = "place" }, want: "creates orders"},
		{name: "a state nothing reaches", spoil: func(s *workflow.Spec) {
			s.States = append(s.States, workflow.StateSpec{State: "C", Terminal: true})
		}, want: "state C cannot be reached"},
		{name: "a dead end", spoil: func(s *workflow.Spec) { s.States[1].Terminal = false }, want: "state B is a dead end"},
		{name: "a terminal state that is left", spoil: func(s *workflow.Spec) {
			s.Transitions = append(s.Transitions, workflow.Transition{Event: "back", From: []workflow.State{"B"}, To: "A"})
		}, want: "state B is terminal, but"},
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

func TestOrderMovesAsTheBriefSays(t *testing.T) {
	rows := []struct {
		from  workflow.State
		event workflow.Event
		to    workflow.State
	}{
		{from: workflow.Pending, event: workflow.Pay, to: workflow.PaymentReceived},
		{from: workflow.PaymentReceived, event: workflow.Ship, to: workflow.Shipped},
		{from: workflow.Shipped, event: workflow.Deliver, to: workflow.Delivered},
		{from: workflow.PaymentReceived, event: workflow.Cancel, to: workflow.Cancelled},
		{from: workflow.PaidOnHold, event: workflow.Release, to: workflow.PaymentReceived},
		{from: workflow.OnHold, event: workflow.Release, to: workflow.Pending},
		{from: workflow.PartiallyShipped, event: workflow.ShipPart, to: workflow.PartiallyShipped},
		{from: workflow.Shipped, event: workflow.Cancel, to: ""},
		{from: workflow.Pending, event: workflow.Ship, to: ""},
		{from: workflow.Delivered, event: workflow.Pay, to: ""},
		{from: workflow.Pending, event: "no_such_event", to: ""},
		{from: "NO_SUCH_STATE", event: workflow.Pay, to: ""},
	}
	for _, row := range rows {
		to, ok := workflow.Order().Next(row.from, row.event)
		if to != row.to || ok != (row.to != "") {
			t.Errorf("%s + %s: got %q %v, want %q", row.from, row.event, to, ok, row.to)
		}
	}
}

func TestGroupsCollectSourcesByTarget(t *testing.T) {
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

func TestReachableFollowsTheEvents(t *testing.T) {
	d := workflow.Order()
	if !d.Reachable(workflow.PaidOnHold, workflow.Shipped) {
		t.Error("a held order can still be shipped")
	}

	if d.Reachable(workflow.Cancelled, workflow.Shipped) {
		t.Error("a canceled order can never be shipped")
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
