package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet"
	"ratchet/operate/executions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// apply moves the order through the events.
func (e *orderExecutions) apply(id transitions.OrderID, events ...workflow.Event) {
	e.t.Helper()

	for _, event := range events {
		r, err := e.orders.Apply(e.t.Context(), transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(event)})
		if err != nil || !r.Verdict.Done() {
			e.t.Fatalf("%s %s: %s, %v", event, id, r.Verdict, err)
		}
	}
}

// TestALostParcelIsListedUntilItsOrderMoves: the carrier has lost a parcel of every order. The list
// does not depend on the execution, which waits or has failed.
func TestALostParcelIsListedUntilItsOrderMoves(t *testing.T) {
	e := newOrderExecutions(t)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)

	var err error
	e.Executions, err = executions.New(executions.Config{
		SFN:     e.sfn,
		Orders:  e.orders,
		Machine: func(context.Context) (string, error) { return e.machine, nil },
		LostParcel: func(_ context.Context, o *transitions.Order) (executions.LostParcel, bool, error) {
			return executions.LostParcel{Tracking: "trk-" + string(o.ID), Report: "report-1", At: at}, o.ID != "wait-safe", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, id := range []transitions.OrderID{"wait-lost", "wait-safe", "wait-part", "wait-paid", "o-failed"} {
		e.place(id)
		e.apply(id, workflow.Pay)
	}
	e.ended("o-failed")

	for _, id := range []transitions.OrderID{"wait-lost", "wait-safe", "o-failed"} {
		e.apply(id, workflow.Ship)
	}
	e.apply("wait-part", workflow.ShipPart)

	got, problems := e.survey(time.Now(), executions.Filter{})
	equal(t, "listed", got, []string{"o-failed failed", "o-failed lost parcel", "wait-lost lost parcel", "wait-part lost parcel"})

	i := slices.IndexFunc(problems, func(p executions.Problem) bool { return p.OrderID == "wait-lost" })
	if p := problems[i]; !p.Since.Equal(at) || !strings.Contains(p.Cause, "trk-wait-lost") || !strings.Contains(p.Cause, "report-1") {
		t.Errorf("since or cause: %+v", p)
	}
	equal(t, "commands", problems[i].Commands, []string{
		"ratchet orders explain wait-lost",
		"ratchet orders apply wait-lost deliver",
		"ratchet orders apply wait-lost chargeback",
	})

	got, _ = e.survey(time.Now(), executions.Filter{Since: at.Add(time.Minute)})
	equal(t, "since later", got, []string{"o-failed failed"})

	got, _ = e.survey(time.Now().Add(31*24*time.Hour), executions.Filter{Orders: []transitions.OrderID{"wait-lost", "wait-safe"}})
	equal(t, "a month later", got, []string{"wait-lost lost parcel", "wait-safe overdue"})

	e.apply("wait-lost", workflow.Deliver)

	got, _ = e.survey(time.Now(), executions.Filter{Orders: []transitions.OrderID{"wait-lost"}})
	equal(t, "after the order has moved", got, []string(nil))
}

// TestAnOrderIsOverdueAfterTheDeadlineOfItsWait compares the defaults with the waits of the
// state machine.
func TestAnOrderIsOverdueAfterTheDeadlineOfItsWait(t *testing.T) {
	var machine struct {
		States map[string]struct{ TimeoutSeconds int64 }
	}
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		t.Fatal(err)
	}
	e := newOrderExecutions(t)

	for _, row := range []struct {
		wait   string
		order  transitions.OrderID
		events []workflow.Event
	}{
		{"AwaitRelease", "wait-held", []workflow.Event{workflow.Hold}},
		{"AwaitShipped", "wait-paid", []workflow.Event{workflow.Pay}},
		{"AwaitShipped", "wait-part", []workflow.Event{workflow.Pay, workflow.ShipPart}},
		{"AwaitDelivered", "wait-shipped", []workflow.Event{workflow.Pay, workflow.Ship}},
	} {
		e.place(row.order)
		e.apply(row.order, row.events...)

		deadline := time.Duration(machine.States[row.wait].TimeoutSeconds) * time.Second
		filter := executions.Filter{Orders: []transitions.OrderID{row.order}}
		before, _ := e.survey(time.Now().Add(deadline-time.Hour), filter)
		after, _ := e.survey(time.Now().Add(deadline), filter)

		if deadline == 0 || len(before) != 0 || len(after) != 1 {
			t.Errorf("%s has a deadline of %s: an hour before %q, then %q", row.wait, deadline, before, after)
		}
	}
}

// TestARangeOfASurveyHasItsEndsInOrder: what nothing can be in is refused, and not answered with "nothing".
func TestARangeOfASurveyHasItsEndsInOrder(t *testing.T) {
	now := time.Now()

	err := new(executions.Executions).Survey(t.Context(), now, executions.Filter{Since: now, Until: now.Add(-time.Hour)}, nil, nil)
	if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "until") {
		t.Errorf("%v", err)
	}
}
