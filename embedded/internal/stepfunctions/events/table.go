package events

import "ratchet/embedded/internal/stepfunctions/execution"

// The names of an event's document in its details.
const (
	input      = "input"
	output     = "output"
	parameters = "parameters"
)

// row is what an event of one type shows beside its id, its time and its type.
type row struct {
	// member is the event's member with the details. A type without it has no details.
	member string
	// document is the name of the document in the details, empty for types whose document is the engine's own.
	document string
	// details returns the details that only the type has, nil for none.
	details func(*View, *execution.Event) map[string]any
}

var rows = map[execution.EventType]row{
	execution.ExecutionStarted:   {"executionStartedEventDetails", input, (*View).started},
	execution.ExecutionSucceeded: {"executionSucceededEventDetails", output, nil},
	execution.ExecutionFailed:    {"executionFailedEventDetails", output, nil},
	execution.ExecutionAborted:   {"executionAbortedEventDetails", output, nil},
	execution.ExecutionTimedOut:  {"executionTimedOutEventDetails", output, nil},
	execution.ExecutionRedriven:  {"executionRedrivenEventDetails", output, (*View).redriven},

	execution.StateEntered:     {"stateEnteredEventDetails", input, (*View).entered},
	execution.StateExited:      {"stateExitedEventDetails", output, (*View).exited},
	execution.EvaluationFailed: {"evaluationFailedEventDetails", output, (*View).evaluated},

	execution.ActivityScheduled: {"activityScheduledEventDetails", input, (*View).activityScheduled},
	execution.ActivityStarted:   {"activityStartedEventDetails", output, (*View).activityStarted},
	execution.ActivitySucceeded: {"activitySucceededEventDetails", output, nil},
	execution.ActivityFailed:    {"activityFailedEventDetails", output, nil},
	execution.ActivityTimedOut:  {"activityTimedOutEventDetails", output, nil},

	execution.TaskScheduled:    {"taskScheduledEventDetails", parameters, (*View).taskScheduled},
	execution.TaskStarted:      {"taskStartedEventDetails", output, (*View).call},
	execution.TaskSubmitted:    {"taskSubmittedEventDetails", output, (*View).call},
	execution.TaskSubmitFailed: {"taskSubmitFailedEventDetails", output, (*View).call},
	execution.TaskSucceeded:    {"taskSucceededEventDetails", output, (*View).call},
	execution.TaskFailed:       {"taskFailedEventDetails", output, (*View).call},
	execution.TaskTimedOut:     {"taskTimedOutEventDetails", output, (*View).call},

	execution.LambdaFunctionScheduled: {"lambdaFunctionScheduledEventDetails", input, (*View).functionScheduled},
	execution.LambdaFunctionSucceeded: {"lambdaFunctionSucceededEventDetails", output, nil},
	execution.LambdaFunctionFailed:    {"lambdaFunctionFailedEventDetails", output, nil},
	execution.LambdaFunctionTimedOut:  {"lambdaFunctionTimedOutEventDetails", output, nil},

	// The document of a Map in JSONata is the engine's own.
	execution.MapStateStarted:       {"mapStateStartedEventDetails", "", (*View).length},
	execution.MapIterationStarted:   {"mapIterationStartedEventDetails", output, (*View).iteration},
	execution.MapIterationSucceeded: {"mapIterationSucceededEventDetails", output, (*View).iteration},
	execution.MapIterationFailed:    {"mapIterationFailedEventDetails", output, (*View).iteration},
	execution.MapIterationAborted:   {"mapIterationAbortedEventDetails", output, (*View).iteration},

	execution.MapRunStarted:  {"mapRunStartedEventDetails", output, (*View).mapRun},
	execution.MapRunFailed:   {"mapRunFailedEventDetails", output, nil},
	execution.MapRunRedriven: {"mapRunRedrivenEventDetails", output, (*View).mapRunRedriven},
}
