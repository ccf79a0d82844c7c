package steps_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"ratchet/activities/steps"
	"ratchet/workflow"
	"ratchet/workflow/check"
	"ratchet/workflow/file"
)

// definitionOf reads a definition.
func definitionOf(t *testing.T, text string) *workflow.Definition {
	t.Helper()

	d, err := file.Parse("workflow.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func ticketDefinition(t *testing.T) *workflow.Definition {
	t.Helper()

	text, err := os.ReadFile("../../examples/ticket/workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}

	return definitionOf(t, string(text))
}

const guardedYAML = `
name: guarded
version: 1
place: place
initial: OPEN
states: [{state: OPEN}, {state: HELD}, {state: BUSY}, {state: DONE}, {state: DROPPED, terminal: true}]
transitions:
  - {event: take, from: [OPEN], to: BUSY, guards: [{name: known, attribute: customer, op: exists}]}
  - {event: hold, from: [OPEN, BUSY], to: HELD}
  - {event: release, from: [HELD], to: OPEN}
  - {event: finish, from: [BUSY], to: DONE}
  - {event: drop, from: [DONE], to: DROPPED}
settled: [DONE]
`

const settledYAML = `
name: settled
version: 1
place: place
initial: OPEN
states: [{state: OPEN}, {state: BUSY}, {state: DONE, terminal: true}]
transitions:
  - {event: take, from: [OPEN], to: BUSY, after: 1d}
  - {event: drop, from: [BUSY], to: DONE}
settled: [OPEN]
`

const besideYAML = `
name: beside
version: 1
place: request
initial: REQUESTED
states: [{state: REQUESTED}, {state: LENT}, {state: OVERDUE}, {state: LATE}, {state: RETURNED}, {state: CLOSED, terminal: true}, {state: LOST, terminal: true}]
transitions:
  - {event: lend, from: [REQUESTED], to: LENT}
  - {event: overdue, from: [LENT], to: OVERDUE, after: 21d}
  - {event: return, from: [LENT], to: RETURNED}
  - {event: return, from: [OVERDUE], to: LATE}
  - {event: lose, from: [OVERDUE], to: LOST, after: 60d}
  - {event: close, from: [RETURNED], to: CLOSED}
  - {event: settle, from: [LATE], to: CLOSED}
`

// besideTheWay is the path of besideYAML: the fee stands before an event that the shortest way does not have.
func besideTheWay() steps.Path {
	return steps.Path{Outside: []workflow.Event{"return"}, Steps: []steps.PathStep{{Name: "fee", Placeholder: "FeeArn", Before: "settle"}}}
}

// TestAStepMayStandBesideTheWay: where an order leaves the shortest way, its execution makes the step and the event there.
func TestAStepMayStandBesideTheWay(t *testing.T) {
	d := definitionOf(t, besideYAML)

	text, err := steps.HappyPath(d, besideTheWay())
	if err != nil {
		t.Fatal(err)
	}

	var machine struct {
		States map[string]struct {
			Resource, Next string
			Choices        []struct{ StringEquals, Next string }
		}
	}
	if err := json.Unmarshal(text, &machine); err != nil {
		t.Fatal(err)
	}

	choices := map[string]string{}
	for _, c := range machine.States["Where"].Choices {
		choices[c.StringEquals] = c.Next
	}

	if fee := machine.States["Fee"]; choices["LATE"] != "Fee" || fee.Resource != "${FeeArn}" || fee.Next != "Settle" || machine.States["Settle"].Next != "Done" {
		t.Errorf("%v\n%s", choices, text)
	}

	if got := besideTheWay().Applies(d); !slices.Equal(got, []workflow.Event{"lend", "close", "settle"}) {
		t.Errorf("applies %v", got)
	}

	if _, err := steps.HappyPath(d, steps.Path{Steps: []steps.PathStep{{Name: "fee", Placeholder: "FeeArn", Before: "lose"}}}); err == nil {
		t.Error("a step before an event that only time makes was left out without a word")
	}
}

// TestTheHappyPathWaitsForTime: an execution does not make what is not due yet.
func TestTheHappyPathWaitsForTime(t *testing.T) {
	text, err := steps.HappyPath(definitionOf(t, strings.Replace(settledYAML, "settled: [OPEN]", "settled: [BUSY]", 1)), steps.Path{})
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(text), `"AwaitBusy"`) || strings.Contains(string(text), `"take"`) {
		t.Errorf("%s", text)
	}
}

// TestTheHappyPathFitsItsDefinition: what is written passes the check of the definition and its state machine.
func TestTheHappyPathFitsItsDefinition(t *testing.T) {
	for name, row := range map[string]struct {
		definition *workflow.Definition
		path       steps.Path
	}{
		"a ticket": {ticketDefinition(t), steps.Path{
			Outside: []workflow.Event{"resolve"},
			Steps:   []steps.PathStep{{Name: "triage", Placeholder: "TriageArn", Before: "assign"}},
		}},
		"a shop": {workflow.Order(), steps.Path{Steps: []steps.PathStep{
			{Name: "reserve", Placeholder: "ReserveArn", Before: "pay", Refused: "cancel"},
			{Name: "charge", Placeholder: "ChargeArn", Before: "pay", Refused: "fail_payment"},
		}}},
		"an order that needs no execution":   {definitionOf(t, settledYAML), steps.Path{}},
		"a move that time makes":             {definitionOf(t, strings.Replace(settledYAML, "settled: [OPEN]", "settled: [BUSY]", 1)), steps.Path{}},
		"guards, and a state beside the way": {definitionOf(t, guardedYAML), steps.Path{}},
		"a step beside the way":              {definitionOf(t, besideYAML), besideTheWay()},
	} {
		text, err := steps.HappyPath(row.definition, row.path)
		if err != nil {
			t.Fatal(err)
		}

		cfg := steps.GeneralCheckConfig()
		for _, s := range row.path.Steps {
			cfg.Tasks[s.Name] = func(map[string]any) check.Effect { return check.Effect{} }
		}

		report, err := check.StateMachine(text, row.definition, cfg)
		findings := slices.DeleteFunc(report.Findings, func(f check.Finding) bool {
			// An order may be held and released any number of times.
			return f.Severity == check.SeverityInfo || f.Code == "loop" && strings.Contains(f.Message, "FromHeld") || f.Code == "loop" && strings.Contains(f.Message, "FromOnHold")
		})
		if err != nil || len(findings) > 0 {
			t.Errorf("%s: %v\n%v\n%s", name, err, findings, text)
		}
	}
}

// What is said of an execution is what its tasks do: each event that none of them waits for.
func TestTheHappyPathAppliesWhatItSays(t *testing.T) {
	d := definitionOf(t, guardedYAML)

	for _, row := range []struct{ outside, applies []workflow.Event }{
		{nil, []workflow.Event{"take", "finish"}},
		{[]workflow.Event{"take"}, []workflow.Event{"finish"}},
		{[]workflow.Event{"take", "finish"}, nil},
	} {
		path := steps.Path{Outside: row.outside}
		if got := path.Applies(d); !slices.Equal(got, row.applies) {
			t.Errorf("outside %v: applies %v, want %v", row.outside, got, row.applies)
		}

		// A step before an event comes first.
		path.Steps = []steps.PathStep{{Name: "look", Before: "finish"}}
		if got := path.Applies(d); slices.Contains(got, "finish") {
			t.Errorf("outside %v, with a step before finish: applies %v", row.outside, got)
		}
		path.Steps = nil

		text, err := steps.HappyPath(d, path)
		if err != nil {
			t.Fatal(err)
		}

		for _, event := range []workflow.Event{"take", "finish"} {
			if made := strings.Contains(string(text), `"event": "`+string(event)+`"`); made != slices.Contains(row.applies, event) {
				t.Errorf("outside %v: a task applies %s: %t", row.outside, event, made)
			}
		}
	}
}

// TestTheHappyPathHandlesTheErrorsOfTheTable: each task retries every row that says so, and nothing else.
func TestTheHappyPathHandlesTheErrorsOfTheTable(t *testing.T) {
	text, err := steps.HappyPath(workflow.Order(), steps.Path{})
	if err != nil {
		t.Fatal(err)
	}

	var machine struct {
		States map[string]struct {
			Type, Resource string
			Retry, Catch   []struct{ ErrorEquals []string }
		}
	}
	if err := json.Unmarshal(text, &machine); err != nil {
		t.Fatal(err)
	}

	for name, s := range machine.States {
		if s.Type != "Task" {
			continue
		}

		kind := steps.Tasks
		if strings.HasSuffix(s.Resource, ".waitForTaskToken") {
			kind = steps.Waits
		}

		var want, got []string
		for _, c := range steps.ErrorClasses() {
			if c.Retry != nil && (c.Of == kind || c.Of == steps.AllStates) {
				want = append(want, c.Errors...)
			}
		}

		for _, r := range s.Retry {
			got = append(got, r.ErrorEquals...)
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s retries %v, want %v", name, got, want)
		}

		if kind == steps.Waits && (len(s.Catch) != 1 || !slices.Contains(s.Catch[0].ErrorEquals, "States.Timeout")) {
			t.Errorf("%s catches %v", name, s.Catch)
		}
	}
}

// TestNamesOfAStateMachineAreUnique: DO_IT and do-it would have one name.
func TestNamesOfAStateMachineAreUnique(t *testing.T) {
	d := definitionOf(t, `{"name":"n","version":1,"place":"p","initial":"A","states":[{"state":"A"},{"state":"B"},{"state":"C","terminal":true}],
		"transitions":[{"event":"do_it","from":["A"],"to":"B"},{"event":"do-it","from":["B"],"to":"C"}]}`)

	if _, err := steps.HappyPath(d, steps.Path{}); err == nil || !strings.Contains(err.Error(), "called DoIt") {
		t.Error(err)
	}
}
