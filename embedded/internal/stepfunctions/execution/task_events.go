package execution

// taskEvents are the events of a kind of task.
type taskEvents struct{ scheduled, started, succeeded, failed, timedOut EventType }

var (
	activityEvents = taskEvents{ActivityScheduled, ActivityStarted, ActivitySucceeded, ActivityFailed, ActivityTimedOut}
	callEvents     = taskEvents{TaskScheduled, TaskStarted, TaskSucceeded, TaskFailed, TaskTimedOut}
	functionEvents = taskEvents{
		LambdaFunctionScheduled, LambdaFunctionStarted, LambdaFunctionSucceeded, LambdaFunctionFailed, LambdaFunctionTimedOut,
	}
)

// taskEvents returns the events of the thread's task: an activity, a call of another service, or
// a Lambda function by its ARN.
func (t *turn) taskEvents(th *thread) taskEvents {
	switch call := t.state(th).Integration; {
	case call == nil:
		return activityEvents
	case call.Function != "":
		return functionEvents
	default:
		return callEvents
	}
}
