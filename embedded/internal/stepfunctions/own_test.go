package stepfunctions

import (
	"testing"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
)

// A start that a task makes again, because a stop has come before its answer was stored,
// finds the execution of the first time, also when that has ended.
func TestATaskStartsAnUnnamedExecutionOnce(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", *passing(1))
	task := queuedTask{execution: executionKey{3, 4}, thread: 1, attempt: 2}
	call := execution.Call{
		Integration: asl.Integration{Service: "states", Operation: "StartExecution"},
		Parameters:  []byte(`{"StateMachineArn":"` + machine + `"}`),
	}

	first, refused := b.svc.callService(t.Context(), call, task.name())
	if refused != nil {
		t.Fatal(refused)
	}

	again, refused := b.svc.callService(t.Context(), call, task.name())
	if refused != nil || string(again) != string(first) {
		t.Errorf("%s, then %s %v", first, again, refused)
	}

	task.attempt++ // a retry starts another one

	other, refused := b.svc.callService(t.Context(), call, task.name())
	if refused != nil || string(other) == string(first) {
		t.Errorf("%s, then %s %v", first, other, refused)
	}
}
