package check

import (
	"regexp"
	"strings"

	"ratchet/workflow"
)

// Effect is the effect of a task on the order. The zero value is no effect.
type Effect struct {
	// Activity says that a worker polls for the task, so that only the time-outs of the state itself
	// notice a lost token. [Tasks] sets it for every task that it knows.
	Activity bool
	// Creates says that the task creates the order, in the initial state. Resumes says that the task also
	// takes an order that exists in that state. An order in any other state is refused.
	Creates, Resumes bool
	// Event is the event that the task applies. AnyEvent says that the input of the
	// execution names the event.
	Event    workflow.Event
	AnyEvent bool
	// Fenced says that the task carries the transitionId of the order and is refused
	// if the order has moved since the execution last read it.
	Fenced bool
	// Refused names the errors with which the task fails after it has applied an event, like
	// a declined payment after the event that says so.
	Refused map[string]workflow.Event
	// Awaits is the state that the task waits for. The task is refused once the order
	// cannot reach the state any more.
	Awaits workflow.State
	// Moved are the errors of a task that awaits a state and does not begin to wait if the
	// order has moved since the execution last read it. Without such errors, the task
	// notices by itself that the order has been in the state.
	Moved []string
	// Reads says that the task returns the position of the order. In lists the accepted states: an order in
	// another state is refused. Without In, every state is accepted.
	Reads bool
	In    []workflow.State
	// Parks says that nothing sends heartbeats while the task waits, so that it may go
	// without HeartbeatSeconds.
	Parks bool
	// Provides names the facts that hold once the task has succeeded, Releases the
	// facts that then no longer hold. [Config.Requires] and [Config.Released] test
	// them. A fact is any text, like "stock reserved".
	Provides, Releases []string
}

// touchesOrder reports whether the task creates, moves, awaits or reads the order.
func (e Effect) touchesOrder() bool {
	return e.Creates || e.moves() || e.Awaits != "" || e.Reads
}

// moves reports whether the task applies an event.
func (e Effect) moves() bool { return e.Event != "" || e.AnyEvent }

// Tasks maps the name of an activity, like "apply-transition", or of a service integration,
// like "update-item.wait-for-task-token", to a function that reads the effect of a task from
// its Parameters or Arguments. The parameters are as encoding/json decodes them, nil when
// absent. A function must not change them.
type Tasks map[string]func(parameters map[string]any) Effect

// Effect returns the effect of a task with the resource. The resource is an ARN or a
// placeholder like ${ApplyTransitionArn}. Its name must be one of the tasks, or end with a dash
// and one of the tasks, as in "shop-apply-transition". If several fit, the longest one counts.
// A task that does not fit, and a Lambda function, has no effect.
func (t Tasks) Effect(resource string, parameters map[string]any) Effect {
	// A function may have the name of an activity by chance.
	if strings.Contains(resource, ":function:") {
		return Effect{}
	}

	name := activityName(resource)

	best := ""
	for task := range t {
		if (name == task || strings.HasSuffix(name, "-"+task)) && len(task) > len(best) {
			best = task
		}
	}

	if best == "" {
		return Effect{}
	}

	e := t[best](parameters)
	e.Activity = true

	return e
}

// wordStart matches the start of a word inside a name like ApplyTransitionArn.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// activityName turns "${ApplyTransitionArn}" and ".../activity:shop-apply-transition"
// into "apply-transition" and "shop-apply-transition".
func activityName(resource string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(resource, "${"), "}")
	// An ARN ends with the name. A placeholder has neither colon nor slash.
	name = name[strings.LastIndexAny(name, ":/")+1:]
	for _, suffix := range []string{"Arn", "ARN", "_arn"} {
		name = strings.TrimSuffix(name, suffix)
	}

	words := wordStart.ReplaceAllString(name, "$1-$2")

	return strings.ReplaceAll(strings.ToLower(words), "_", "-")
}
