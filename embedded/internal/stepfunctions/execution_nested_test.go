package stepfunctions

import (
	"strings"
	"testing"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/waiting"
)

// A start that a task makes again, because a stop has come before its answer was stored,
// finds the execution of the first time, also when that has ended.
func TestATaskStartsAnUnnamedExecutionOnce(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", *passing(1))
	task := waiting.Task{Execution: keys.Execution{Machine: 3, ID: 4}, Thread: 1, Attempt: 2}
	call := execution.Call{
		Integration: asl.Integration{Service: "states", Operation: "StartExecution"},
		Parameters:  []byte(`{"StateMachineArn":"` + machine + `"}`),
	}

	first, refused := b.svc.calls.Call(t.Context(), call, startName(task))
	if refused != nil {
		t.Fatal(refused)
	}

	again, refused := b.svc.calls.Call(t.Context(), call, startName(task))
	if refused != nil || string(again) != string(first) {
		t.Errorf("%s, then %s %v", first, again, refused)
	}

	task.Attempt++ // a retry starts another one

	other, refused := b.svc.calls.Call(t.Context(), call, startName(task))
	if refused != nil || string(other) == string(first) {
		t.Errorf("%s, then %s %v", first, other, refused)
	}
}

// The description of an execution that a task has waited for says whether it can be redriven.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/local_mocking/test_base_callbacks.py, test_sfn_start_execution_sync.
func TestTheDescriptionOfAnExecutionThatATaskHasStarted(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		const definition = `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution.sync:2","Parameters":{"StateMachineArn":"CHILD"},
			"Catch":[{"ErrorEquals":["States.TaskFailed"],"Next":"B"}],"OutputPath":"$['RedriveCount','RedriveStatus','RedriveStatusReason']","End":true},
			"B":{"Type":"Pass","Parameters":{"d.$":"States.StringToJson($.Cause)"},"OutputPath":"$.d['RedriveCount','RedriveStatus']","End":true}}}`

		for _, row := range []struct{ name, state, want string }{
			{"good", `{"Type":"Succeed"}`, `SUCCEEDED {"RedriveCount":0,"RedriveStatus":"NOT_REDRIVABLE","RedriveStatusReason":"Execution is SUCCEEDED and cannot be redriven"}`},
			{"bad", `{"Type":"Fail"}`, `SUCCEEDED {"RedriveCount":0,"RedriveStatus":"REDRIVABLE"}`},
		} {
			child := b.machine(row.name, `{"StartAt":"S","States":{"S":`+row.state+`}}`)
			machine := b.machine("starts-"+row.name, strings.Replace(definition, "CHILD", child, 1))

			if got := ending(b.ended(b.start(machine, "", `{}`))); got != row.want {
				t.Errorf("%s: %s", row.name, got)
			}
		}
	})
}
