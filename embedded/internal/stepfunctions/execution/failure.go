package execution

import (
	"errors"
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// Error names with a meaning of their own.
const (
	timeoutError   = "States.Timeout"
	heartbeatError = "States.HeartbeatTimeout"
	runtimeError   = "States.Runtime"
	dataLimitError = "States.DataLimitExceeded"
	intrinsicError = "States.IntrinsicFailure"
	anyError       = "States.ALL"
	taskError      = "States.TaskFailed"
	thresholdError = "States.ExceedToleratedFailureThreshold"
	queryError     = "States.QueryEvaluationError"
)

// failure is an error of the workflow, which Retry and Catch may handle. Any other error is
// the engine's.
type failure struct {
	name, cause string
	// heartbeat marks a missed heartbeat. AWS records it as States.Timeout, and still
	// matches it with States.HeartbeatTimeout.
	heartbeat bool
	// answered marks a failure of a call. States.ALL then covers States.DataLimitExceeded, too.
	// Source: LocalStack's recordings of AWS (test_states_errors).
	answered bool
	// told marks a failure that a worker has reported. A name or a cause that the worker
	// leaves out is null for Catch.
	// Source: LocalStack's recordings of AWS (test_callback,
	// test_sqs_failure_in_wait_for_task_tok_no_error_field).
	told bool
	// final marks a failure that no Retry and Catch handles.
	final bool
	// evaluated marks a failure of a field in JSONata, for which the history has an event of
	// its own. location is the field, "" for the input itself.
	evaluated bool
	location  string
}

func (f *failure) Error() string { return f.name + ": " + f.cause }

// matches reports whether ErrorEquals with these names handles the failure. Nothing handles
// States.Runtime. States.ALL covers States.DataLimitExceeded only if the failure is the answer of a call.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
func (f *failure) matches(names []string) bool {
	if f.name == runtimeError || f.final {
		return false
	}

	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case anyError:
			return f.answered || f.name != dataLimitError
		case taskError:
			// As on AWS, a missed heartbeat is a timeout for this purpose: it has that name, too.
			return f.name != timeoutError && f.name != dataLimitError
		case heartbeatError:
			return f.heartbeat || f.name == name
		default:
			return f.name == name
		}
	})
}

// runtimeFailure returns a States.Runtime failure with AWS's wording.
func (t *turn) runtimeFailure(th *thread, format string, args ...any) *failure {
	return &failure{name: runtimeError, cause: t.causePrefix(th) + fmt.Sprintf(format, args...)}
}

// invalidPath is the failure of a field whose path matches nothing.
func (t *turn) invalidPath(th *thread, path *jsonpath.Path, err error) *failure {
	var missing *jsonpath.NotFoundError
	if !errors.As(err, &missing) {
		return t.runtimeFailure(th, "%v", err)
	}

	return t.runtimeFailure(th, "Invalid path '%s' : %s", path, missing.Reason())
}

func (t *turn) causePrefix(th *thread) string {
	const prefix = "An error occurred while executing the state '%s' (entered at the event id #%d). "

	return fmt.Sprintf(prefix, t.state(th).Name, th.enteredEvent)
}

// maxCauseInput is the number of bytes of an input that a cause quotes.
const maxCauseInput = 1024

// expressionFailure turns an error of an expression into a failure.
func (t *turn) expressionFailure(th *thread, doc *Doc, err error) error {
	var field *jsonpath.FieldError
	var missing *jsonpath.NotFoundError
	var intrinsic *jsonpath.IntrinsicError
	switch {
	case errors.As(err, &intrinsic):
		return &failure{name: intrinsicError, cause: t.causePrefix(th) + intrinsic.Error()}
	case errors.As(err, &missing) && errors.As(err, &field):
		input := doc.JSON
		if len(input) > maxCauseInput {
			input = input[:maxCauseInput]
		}

		const cause = "The JSONPath '%s' specified for the field '%s' could not be found in the input '%s'"

		return t.runtimeFailure(th, cause, missing.Path, field.Field, input)
	}

	return t.runtimeFailure(th, "%v", err)
}
