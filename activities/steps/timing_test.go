package steps_test

import (
	"os"
	"testing"
	"time"

	"ratchet/activities/steps"
)

func TestTimingsAreTheShortestOfEachPlaceholder(t *testing.T) {
	got, err := steps.Timings(`{"States": {
		"A": {"Type": "Task", "Resource": "${One}", "TimeoutSeconds": 60, "HeartbeatSeconds": 20},
		"B": {"Type": "Task", "Resource": "${One}", "TimeoutSeconds": 30, "HeartbeatSeconds": 10},
		"C": {"Type": "Task", "Resource": "${Two}", "TimeoutSecondsPath": "$.timeout"},
		"D": {"Type": "Pass"}}}`)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}

	want := steps.Timing{Heartbeat: 10 * time.Second, Timeout: 30 * time.Second}
	if got["One"] != want || got["Two"] != (steps.Timing{}) {
		t.Errorf("got %v", got)
	}
}

func TestTimingsRefuseATaskWithoutATimeout(t *testing.T) {
	for _, asl := range []string{`{"States": {"A": {"Type": "Task", "Resource": "${One}"}}}`, `{`} {
		if _, err := steps.Timings(asl); err == nil {
			t.Errorf("%s: no error", asl)
		}
	}
}

// formerMachine is the state machine of executions that were started before the waits were
// parked by Step Functions itself.
func formerMachine(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("testdata/before-rendezvous.asl.json")
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}
