package steps_test

import (
	"strings"
	"testing"
	"time"

	"ratchet/activities/steps"
)

func TestTimingsAreTheShortestOfEachPlaceholder(t *testing.T) {
	got, err := steps.Timings(`{"States": {
		"A": {"Type": "Task", "Resource": "${One}", "TimeoutSeconds": 60, "HeartbeatSeconds": 20},
		"B": {"Type": "Task", "Resource": "${One}", "TimeoutSeconds": 30, "HeartbeatSeconds": 10},
		"C": {"Type": "Task", "Resource": "${Two}", "TimeoutSecondsPath": "$.timeout", "HeartbeatSecondsPath": "$.heartbeat"},
		"D": {"Type": "Pass"}}}`)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}

	want := steps.Timing{Heartbeat: 10 * time.Second, Timeout: 30 * time.Second}
	if got["One"] != want || got["Two"] != (steps.Timing{}) {
		t.Errorf("got %v", got)
	}
}

// TestWorkerPoint05_ATaskWithoutATimeoutOrHeartbeatsIsRefused: a worker does not start with such a
// state machine.
func TestWorkerPoint05_ATaskWithoutATimeoutOrHeartbeatsIsRefused(t *testing.T) {
	for asl, want := range map[string]string{
		`{"States": {"A": {"Type": "Task", "Resource": "${One}", "HeartbeatSeconds": 15}}}`:            "state A has neither TimeoutSeconds",
		`{"States": {"A": {"Type": "Task", "Resource": "${One}", "TimeoutSeconds": 60}}}`:              "state A has no HeartbeatSeconds",
		`{"States": {"A": {"Type": "Task", "Resource": "${One}", "TimeoutSecondsPath": "$.timeout"}}}`: "state A has no HeartbeatSeconds",
		`{`: "read the state machine",
	} {
		if _, err := steps.Timings(asl); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", asl, err, want)
		}
	}
}
