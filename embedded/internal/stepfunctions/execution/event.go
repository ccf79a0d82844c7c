package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// EventType is the type of a history event.
type EventType byte

// The types of events. Their numbers are stored: new types go to the end.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
const (
	ExecutionStarted EventType = iota + 1
	ExecutionSucceeded
	ExecutionFailed
	ExecutionAborted
	ExecutionTimedOut
	ExecutionRedriven
	ActivityScheduled
	ActivityStarted
	ActivitySucceeded
	ActivityFailed
	ActivityTimedOut
	MapIterationStarted
	MapIterationSucceeded
	MapIterationFailed
	MapIterationAborted
	MapStateStarted
	MapStateSucceeded
	MapStateFailed
	MapStateAborted
	ParallelStateStarted
	ParallelStateSucceeded
	ParallelStateFailed
	ParallelStateAborted
	TaskStateAborted
	WaitStateAborted
	// StateEntered and StateExited get the state's kind before their name.
	StateEntered
	StateExited
	// The events of a call of another service.
	TaskScheduled
	TaskStarted
	TaskSubmitted
	TaskSubmitFailed
	TaskSucceeded
	TaskFailed
	TaskTimedOut
	// The events of a Map Run.
	MapRunStarted
	MapRunSucceeded
	MapRunFailed
	MapRunAborted
	MapRunRedriven
	EvaluationFailed
	// The events of a Lambda function that is the Resource of a task.
	LambdaFunctionScheduled
	LambdaFunctionStarted
	LambdaFunctionSucceeded
	LambdaFunctionFailed
	LambdaFunctionTimedOut
)

var eventNames = [...]string{
	ExecutionStarted:       "ExecutionStarted",
	ExecutionSucceeded:     "ExecutionSucceeded",
	ExecutionFailed:        "ExecutionFailed",
	ExecutionAborted:       "ExecutionAborted",
	ExecutionTimedOut:      "ExecutionTimedOut",
	ExecutionRedriven:      "ExecutionRedriven",
	ActivityScheduled:      "ActivityScheduled",
	ActivityStarted:        "ActivityStarted",
	ActivitySucceeded:      "ActivitySucceeded",
	ActivityFailed:         "ActivityFailed",
	ActivityTimedOut:       "ActivityTimedOut",
	MapIterationStarted:    "MapIterationStarted",
	MapIterationSucceeded:  "MapIterationSucceeded",
	MapIterationFailed:     "MapIterationFailed",
	MapIterationAborted:    "MapIterationAborted",
	MapStateStarted:        "MapStateStarted",
	MapStateSucceeded:      "MapStateSucceeded",
	MapStateFailed:         "MapStateFailed",
	MapStateAborted:        "MapStateAborted",
	ParallelStateStarted:   "ParallelStateStarted",
	ParallelStateSucceeded: "ParallelStateSucceeded",
	ParallelStateFailed:    "ParallelStateFailed",
	ParallelStateAborted:   "ParallelStateAborted",
	TaskStateAborted:       "TaskStateAborted",
	WaitStateAborted:       "WaitStateAborted",
	StateEntered:           "StateEntered",
	StateExited:            "StateExited",
	TaskScheduled:          "TaskScheduled",
	TaskStarted:            "TaskStarted",
	TaskSubmitted:          "TaskSubmitted",
	TaskSubmitFailed:       "TaskSubmitFailed",
	TaskSucceeded:          "TaskSucceeded",
	TaskFailed:             "TaskFailed",
	TaskTimedOut:           "TaskTimedOut",
	MapRunStarted:          "MapRunStarted",
	MapRunSucceeded:        "MapRunSucceeded",
	MapRunFailed:           "MapRunFailed",
	MapRunAborted:          "MapRunAborted",
	MapRunRedriven:         "MapRunRedriven",
	EvaluationFailed:       "EvaluationFailed",

	LambdaFunctionScheduled: "LambdaFunctionScheduled",
	LambdaFunctionStarted:   "LambdaFunctionStarted",
	LambdaFunctionSucceeded: "LambdaFunctionSucceeded",
	LambdaFunctionFailed:    "LambdaFunctionFailed",
	LambdaFunctionTimedOut:  "LambdaFunctionTimedOut",
}

// Event is one event of an execution's history.
type Event struct {
	// ID counts from 1. Prev is the previous event of the same thread, or 0.
	ID, Prev int64
	// At is in milliseconds since 1970.
	At   int64
	Type EventType
	// State is the state's ordinal in the machine, or -1.
	State int
	// Index is a map iteration's index, a map's length or the count of the redrives of an
	// execution or a Map Run.
	Index int
	// Doc is the event's input or output. Its JSON is nil in a stored event that refers to
	// the document of another.
	Doc *Doc
	// Assigned holds the variables that a state assigned, as an object; nil for none.
	Assigned []byte
	// Timeout and Heartbeat are in seconds, 0 when there is none.
	Timeout, Heartbeat int64
	// Worker is a name: of the worker in ActivityStarted, of the Map Run in MapRunStarted and
	// MapRunRedriven, and of the field in EvaluationFailed.
	Worker, Error, Cause string
}

// Name returns the event's type as AWS names it.
func (e *Event) Name(m *asl.Machine) string {
	name := eventNames[e.Type]
	if (e.Type == StateEntered || e.Type == StateExited) && e.State >= 0 {
		return m.States[e.State].Kind.String() + name
	}

	return name
}
