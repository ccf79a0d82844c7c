package execution

import (
	"strings"
	"testing"
)

// ErrorEquals has names of errors, and names that stand for several.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
func TestErrorEquals(t *testing.T) {
	missed := failure{name: timeoutError, heartbeat: true}

	for _, row := range []struct {
		is     string
		failed failure
		names  string
		want   bool
	}{
		{"its name", failure{name: "Boom"}, "Bang Boom", true},
		{"another name", failure{name: "Boom"}, "Bang", false},
		{"any error", failure{name: "Boom"}, "States.ALL", true},
		{"any task's error", failure{name: "Boom"}, "States.TaskFailed", true},
		{"a timeout is no failure of a task", failure{name: timeoutError}, "States.TaskFailed", false},
		{"a timeout", failure{name: timeoutError}, "States.Timeout", true},
		{"a timeout is no missed heartbeat", failure{name: timeoutError}, "States.HeartbeatTimeout", false},
		{"a missed heartbeat", missed, "States.HeartbeatTimeout", true},
		{"a missed heartbeat is a timeout", missed, "States.Timeout", true},
		{"a worker says that it has missed a heartbeat", failure{name: heartbeatError}, "States.HeartbeatTimeout", true},
		{"a document too long is not any error", failure{name: dataLimitError}, "States.ALL", false},
		{"nor a failure of a task", failure{name: dataLimitError}, "States.TaskFailed", false},
		{"a document too long", failure{name: dataLimitError}, "States.DataLimitExceeded", true},
		{"the answer of a call that is too long", failure{name: dataLimitError, answered: true}, "States.ALL", true},
		{"an error at run time", failure{name: runtimeError}, "States.Runtime States.ALL", false},
		{"a final error", failure{name: queryError, final: true}, "States.QueryEvaluationError", false},
	} {
		if got := row.failed.matches(strings.Fields(row.names)); got != row.want {
			t.Errorf("%s: %v", row.is, got)
		}
	}
}
