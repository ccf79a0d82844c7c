package steps

import (
	"slices"
	"strings"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

// The facts about an order that [CheckConfig] follows through a state machine.
const (
	factStockReserved = "stock reserved"
	factPaymentTaken  = "payment taken"
)

// shippedStates are the states in which a reaction has committed the order's stock.
var shippedStates = []workflow.State{
	workflow.Shipped, workflow.Delivered, workflow.Completed,
	workflow.ReturnRequested, workflow.Returned, workflow.Refunded,
}

// CheckConfig describes the steps for package check, which compares a state machine that uses them with
// a definition. It has the effect of each activity, by the end of the activity's name, and the error
// names of the tasks. It demands two things: an order is paid only after its stock is reserved and its
// payment is taken, and no execution succeeds while stock is still reserved.
func CheckConfig() check.Config {
	tasks := check.Tasks{
		"accept": func(map[string]any) check.Effect {
			return check.Effect{
				Creates:  true,
				Resumes:  true,
				Refused:  map[string]workflow.Event{nameOutOfStock: workflow.Cancel},
				Provides: []string{factStockReserved},
			}
		},
		"pay": func(map[string]any) check.Effect {
			return check.Effect{
				Event:    workflow.Pay,
				Fenced:   true,
				Refused:  map[string]workflow.Event{namePaymentDeclined: workflow.FailPayment},
				Provides: []string{factPaymentTaken},
			}
		},
		"look": func(map[string]any) check.Effect { return check.Effect{Reads: true} },
		"compensate": func(map[string]any) check.Effect {
			return check.Effect{
				Reads:    true,
				In:       undoneStates,
				Releases: []string{factStockReserved, factPaymentTaken},
			}
		},
		"update-item.wait-for-task-token": waitEffect,
	}

	// Only the stock must be released at the end, because a paid order keeps its money. For a shipped
	// order no task has to release the stock: the stream's reaction has committed it.
	return check.Config{
		Tasks:      tasks,
		Variable:   "$.run.order.state",
		Overtaken:  OvertakenErrors(),
		Retryable:  ownErrors(RetryableErrors()),
		Terminal:   ownErrors(TerminalErrors()),
		Requires:   map[workflow.Event][]string{workflow.Pay: {factStockReserved, factPaymentTaken}},
		Released:   []string{factStockReserved},
		ReleasedIn: map[string][]workflow.State{factStockReserved: shippedStates},
	}
}

// ownErrors leaves out the errors of services, which other tasks may raise as well.
func ownErrors(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, ErrorPrefix) && !strings.HasPrefix(name, "States.")
	})
}

// transitionEffect reads which event a task applies. An event that is not a constant
// comes from the input of the execution.
func transitionEffect(parameters map[string]any) check.Effect {
	event, constant := parameters["event"].(string)
	_, given := parameters["transitionId"]
	_, computed := parameters["transitionId.$"]

	return check.Effect{
		Event:    workflow.Event(event),
		AnyEvent: !constant,
		Fenced:   given || computed,
	}
}

// waitEffect reads the state that a wait waits for, from the parameters that tasktoken.WaitParameters
// makes. With other parameters the task waits for no order.
func waitEffect(parameters map[string]any) check.Effect {
	values, _ := parameters["ExpressionAttributeValues"].(map[string]any)
	awaited, _ := values[":awaited"].(map[string]any)
	state, _ := awaited["S"].(string)

	if state == "" {
		return check.Effect{Parks: true}
	}

	e := check.Effect{
		Awaits: workflow.State(state),
		Parks:  true,
		Moved:  movedErrors(),
	}
	// The execution need not commit the stock: the stream's reaction did so when the order shipped.
	if slices.Contains(shippedStates, e.Awaits) {
		e.Releases = []string{factStockReserved}
	}

	return e
}
