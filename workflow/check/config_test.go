package check_test

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

// TestEveryFaultOfAConfigIsReported: one error names all faults.
func TestEveryFaultOfAConfigIsReported(t *testing.T) {
	cfg := check.Config{
		Tasks:    check.Tasks{"place-order": nil},
		Variable: "order.state",
	}
	for i := range 17 {
		cfg.Released = append(cfg.Released, fmt.Sprintf("fact %d", i))
	}

	_, err := check.StateMachine([]byte(`{}`), workflow.Order(), cfg)
	if err == nil {
		t.Fatal("got no error")
	}

	for _, want := range []string{
		`Variable "order.state": must be a path`,
		`Tasks: "place-order": must have a name and a function`,
		"Requires and Released: 17 different facts; at most 16",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// TestWithoutTasksOnlyTheLanguageIsChecked: the zero config knows no order.
func TestWithoutTasksOnlyTheLanguageIsChecked(t *testing.T) {
	asl := `{"StartAt": "A", "TimeoutSeconds": 60, "States": {"A": {"Type": "Task", "Resource": "${PlaceOrderArn}", "TimeoutSeconds": 9, "End": true}}}`

	report, err := check.StateMachine([]byte(asl), workflow.Order(), check.Config{})
	if err != nil {
		t.Fatal(err)
	}

	if report.File != "state machine" || report.Explored != 0 || len(report.Findings) != 1 || report.Findings[0].Code != "no-order-tasks" {
		t.Errorf("got %+v, want only the finding no-order-tasks", report)
	}
}
