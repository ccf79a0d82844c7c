package execution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// call answers the call of a task with an output, or with a failure that has a name.
func (x *memoryExecution) call(task Task, output []byte, failure string) error {
	var refused *CallFailure
	if failure != "" {
		name, cause, _ := strings.Cut(failure, " ")
		refused = &CallFailure{name, cause}
	}

	return x.step(func(e *Env, s *State) (*Turn, error) { return e.Called(s, task.Thread, task.Attempt, output, refused) })
}

// isCall reports whether a task waits for a call of the engine.
func isCall(task Task) bool { return task.Resource == CallQueue || task.Resource == FunctionQueue }

// callCommand checks the payload of a state's call ("payload"), answers the call with a result ("answer"),
// or with an error's name and a cause ("refuse").
func (x *memoryExecution) callCommand(verb, state, value string) error {
	i := slices.IndexFunc(x.queue, func(task Task) bool {
		return task.Resource == FunctionQueue && x.machine.States[x.state().thread(task.Thread).state].Name == state
	})
	if i < 0 {
		return fmt.Errorf("no call of %s is queued", state)
	}

	switch task := x.queue[i]; verb {
	case "payload":
		call, err := x.env().Call(x.state(), task.Thread, task.Attempt)
		if got := string(call.Parameters); err == nil && got != value {
			err = fmt.Errorf("the payload is %s", got)
		}

		return err
	case "refuse":
		return x.call(task, nil, value)
	default:
		return x.call(task, []byte(value), "")
	}
}

const functionTask = `"Type":"Task","Resource":"arn:aws:lambda:us-east-1:000000000000:function:f"`

// A result over the limit fails the task of a function in its own words, and States.ALL catches
// that.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/error_handling/test_states_errors.py.
func TestAnAnswerOverTheLimitFailsItsTask(t *testing.T) {
	large := `"` + strings.Repeat("x", MaxDocument) + `"`

	for _, row := range []struct{ is, task, event, by string }{
		{"a function", functionTask, "LambdaFunctionFailed", "arn:aws:lambda:us-east-1:000000000000:function:f"},
		{"a call", `"Type":"Task","Resource":"arn:aws:states:::lambda:invoke"`, "TaskFailed", "lambda"},
	} {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{`+row.task+`,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"C"}],"End":true},`+
			`"C":{"Type":"Pass","End":true}}}`)
		if err := x.start(`{}`); err != nil {
			t.Fatal(err)
		}

		if err := x.command("answer S " + large); err != nil {
			t.Fatal(err)
		}

		want := `{"Error":"States.DataLimitExceeded","Cause":"The state/task '` + row.by +
			`' returned a result with a size exceeding the maximum number of bytes service limit."}`
		if got := x.outcome(t); got != want {
			t.Errorf("%s: %s", row.is, got)
		}

		if got := x.eventTypes()[4]; got != "5<4 "+row.event {
			t.Errorf("%s: %s", row.is, got)
		}
	}
}

// A function has no token: it cannot be answered but by its result.
func TestAFunctionHasNoToken(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{`+functionTask+`,"Parameters":{"token.$":"$$.Task.Token"},"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	const want = "The JSONPath '$$.Task.Token' specified for the field 'token.$' could not be found in the input"
	if got := x.outcome(t); !strings.Contains(got, want) {
		t.Error(got)
	}
}
