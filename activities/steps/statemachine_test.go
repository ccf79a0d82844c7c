package steps_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet"
	"ratchet/activities/steps"
)

type state struct {
	Type, Resource, TimeoutSecondsPath string
	TimeoutSeconds, HeartbeatSeconds   int
	Retry, Catch                       []struct {
		ErrorEquals []string
		MaxAttempts *int
		Next        string
	}
}

func states(t *testing.T) map[string]state {
	t.Helper()

	var doc struct{ States map[string]state }
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &doc); err != nil {
		t.Fatal(err)
	}

	return doc.States
}

// TestStateMachineRetriesTheErrorsOfTheSteps compares statemachine.asl.json with the steps:
// every task retries exactly the retryable errors, and catches every other error.
func TestStateMachineRetriesTheErrorsOfTheSteps(t *testing.T) {
	for name, s := range states(t) {
		if s.Type != "Task" {
			continue
		}

		var retried []string
		for _, r := range s.Retry {
			retried = append(retried, r.ErrorEquals...)
		}
		slices.Sort(retried)

		want := steps.RetryableErrors()
		waits := s.Resource == "${AwaitOrderArn}"
		if waits { // its time-out ends one wait and is not a fault: a Catch waits again
			want = slices.DeleteFunc(want, func(e string) bool { return strings.HasPrefix(e, "States.") })
		}
		slices.Sort(want)

		if diff := cmp.Diff(want, slices.Compact(retried)); diff != "" {
			t.Errorf("%s retries other errors (-want +got):\n%s", name, diff)
		}

		if n := len(s.Catch); n == 0 || !slices.Equal(s.Catch[n-1].ErrorEquals, []string{"States.ALL"}) {
			t.Errorf("%s: the last Catch must be for States.ALL", name)
		}

		for _, c := range s.Catch {
			for _, e := range steps.OvertakenErrors() {
				// After the delivery nothing is left to do.
				if slices.Contains(c.ErrorEquals, e) && c.Next != "Overtaken" && name != "AwaitDelivered" {
					t.Errorf("%s: %s leads to %s", name, e, c.Next)
				}
			}
		}

		if waits != (s.TimeoutSecondsPath != "") || waits == (s.TimeoutSeconds > 0) || waits == (s.HeartbeatSeconds > 0) {
			t.Errorf("%s: TimeoutSeconds %d, TimeoutSecondsPath %q, HeartbeatSeconds %d", name, s.TimeoutSeconds, s.TimeoutSecondsPath, s.HeartbeatSeconds)
		}
	}
}

// TestEveryStepHasATaskAndEveryTaskAStep compares placeholders with steps.
func TestEveryStepHasATaskAndEveryTaskAStep(t *testing.T) {
	timings, err := steps.Timings(ratchet.StateMachine)
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range steps.Activities() {
		if _, used := timings[s.Placeholder]; !used {
			t.Errorf("step %s is used by no state", s.Name)
		}
		delete(timings, s.Placeholder)
	}

	if len(timings) > 0 {
		t.Errorf("no step for %v", timings)
	}
}
