package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// workflowAnswer is the answer of /v1/workflow.
type workflowAnswer struct {
	Name, Place, Initial string
	Version              int
	States               []struct {
		State    string
		Terminal bool
	}
	Transitions []struct {
		Event, To string
		From, If  []string
		After     *struct {
			Text, Attribute string
			Seconds         int64
		}
		Restart bool
	}
	Machine *struct {
		StartAt string
		States  []machineStateAnswer
		Layout  layoutAnswer
	}
	Check  *struct{ Errors, Warnings int }
	Layout layoutAnswer
}

// layoutAnswer is a picture as it is answered.
type layoutAnswer struct {
	Status        string
	Width, Height float64
	Start         *placedAnswer
	States        []placedAnswer
	Lines         []struct {
		From, To, Path, Anchor string
		Labels                 []struct {
			Event, Text string
			X, Y        float64
		}
	}
}

type placedAnswer struct {
	State               string
	X, Y, Width, Height float64
}

type machineStateAnswer struct {
	Name, Type, Awaits   string
	Creates              bool
	Events, Next, Orders []string
}

// withMachine lets the API know the shop's state machine.
func withMachine(c *api.Config) {
	c.Machine = func() (api.Machine, error) {
		cfg := steps.CheckConfig()
		report, err := check.StateMachine([]byte(ratchet.StateMachine), workflow.Order(), cfg)

		return api.Machine{ASL: []byte(ratchet.StateMachine), Tasks: cfg.Tasks, Report: report}, err
	}
}

// The answer has every state and transition of the definition, every state of the state machine, and the events that
// its tasks apply.
func TestTheWorkflowIsReadWithItsStateMachine(t *testing.T) {
	s := newAPIServer(t, withMachine)

	var got workflowAnswer
	s.want(s.ask("GET", "/v1/workflow", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "").read(t, &got)

	d := workflow.Order()
	if got.Name != d.Name() || got.Version != d.Version() || got.Place != string(d.Place()) || got.Initial != string(d.Initial()) || len(got.States) != len(d.States()) {
		t.Errorf("%+v", got)
	}

	for _, tr := range got.Transitions {
		for _, from := range tr.From {
			if !slices.ContainsFunc(d.Choices(workflow.State(from), workflow.Event(tr.Event)), func(c workflow.Transition) bool { return string(c.To) == tr.To }) {
				t.Errorf("%s from %s to %s is none of the definition", tr.Event, from, tr.To)
			}
		}
	}

	if got.Machine == nil || got.Check == nil || got.Check.Errors != 0 {
		t.Fatalf("%+v", got)
	}

	report, err := check.StateMachine([]byte(ratchet.StateMachine), d, steps.CheckConfig())
	if err != nil {
		t.Fatal(err)
	}

	events, creates, awaits := []string{}, 0, []string{}
	for _, state := range got.Machine.States {
		events = append(events, state.Events...)
		if state.Creates {
			creates++
		}

		if state.Awaits != "" {
			awaits = append(awaits, state.Awaits)
		}

		for _, next := range state.Next {
			if !slices.ContainsFunc(got.Machine.States, func(other machineStateAnswer) bool { return other.Name == next }) {
				t.Errorf("%s leads to %s, which is not shown", state.Name, next)
			}
		}
	}

	if len(got.Machine.States) != report.States || creates == 0 || !slices.Contains(events, "pay") || !slices.Contains(awaits, "SHIPPED") || !slices.Contains(awaits, "DELIVERED") {
		t.Errorf("%d states of %d, %d create the order, events %v, awaits %v", len(got.Machine.States), report.States, creates, events, awaits)
	}
}

func TestADefinitionWithoutItsStateMachine(t *testing.T) {
	s := newAPIServer(t, dev)

	var got workflowAnswer
	s.want(s.ask("GET", "/v1/workflow", ""), http.StatusOK, "").read(t, &got)

	if got.Machine != nil || got.Check != nil || len(got.Transitions) == 0 {
		t.Errorf("%+v", got)
	}
}

// TestTheTimersOfTheWorkflowAreRead: the terms of the shop, and no timer of any other transition.
func TestTheTimersOfTheWorkflowAreRead(t *testing.T) {
	terms, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: 24 * time.Hour, ReturnWindow: 14 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	spec := terms.Spec()
	for i := range spec.Transitions {
		if tr := &spec.Transitions[i]; tr.Event == workflow.Close {
			tr.After.Attribute = "metadata.deliveredAt"
		}
	}
	spec.Transitions = append(spec.Transitions, workflow.Transition{Event: "extend", From: []workflow.State{workflow.Pending}, To: workflow.Pending, Restart: true})

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	s := newAPIServer(t, func(c *api.Config) {
		c.Orders, err = transitions.New(transitions.Config{DynamoDB: dynamodb.New(dynamodb.Options{}), Table: "orders", RequestsTable: "requests", Definition: d})
		if err != nil {
			t.Fatal(err)
		}
	})

	var got workflowAnswer
	s.want(s.ask("GET", "/v1/workflow", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "").read(t, &got)

	var timers []string
	for _, tr := range got.Transitions {
		if tr.After != nil {
			timers = append(timers, fmt.Sprint(tr.From, " ", tr.Event, " ", tr.After.Text, " ", tr.After.Seconds, " ", tr.After.Attribute))
		}

		if tr.Restart != (tr.Event == "extend") {
			t.Errorf("%s: restart %v", tr.Event, tr.Restart)
		}
	}

	if want := []string{"[DELIVERED] close metadata.deliveredAt + 14d 1209600 metadata.deliveredAt", "[PENDING] expire 24h 86400 "}; !slices.Equal(timers, want) {
		t.Errorf("timers %q, want %q", timers, want)
	}
}
