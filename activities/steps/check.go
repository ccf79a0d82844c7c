package steps

import (
	"ratchet/activities"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// TerminalErrors are the error names that no task may retry, because the same input fails
// again: the steps' own, and those of the worker and of a transition that was refused.
func TerminalErrors() []string {
	return []string{
		nameInvalidInput, nameOutOfStock, namePaymentDeclined, nameShipmentCanceled, nameClosed, nameUnknownVersion,
		verdictName(transitions.NotFound), verdictName(transitions.Illegal),
		ErrorPrefix + activities.NamePanic, ErrorPrefix + activities.NameDataLimit, ErrorPrefix + activities.NameOutput,
	}
}

// The facts about an order that [CheckConfig] follows through a state machine.
const (
	factStockReserved = "stock reserved"
	factPaymentTaken  = "payment taken"
)

// CheckConfig says what the steps do, so that package check can compare a state machine
// that uses them with a definition: the effect of each activity, by the end of its name, and
// the error names of the tasks. An order must not be paid before its stock is reserved and
// its payment taken, and no execution may end well with stock still reserved.
func CheckConfig() check.Config {
	provides := func(fact string) func(map[string]any) check.Effect {
		return func(map[string]any) check.Effect { return check.Effect{Provides: []string{fact}} }
	}
	releases := func(fact string) func(map[string]any) check.Effect {
		return func(map[string]any) check.Effect { return check.Effect{Releases: []string{fact}} }
	}
	nothing := func(map[string]any) check.Effect { return check.Effect{} }

	return check.Config{
		Tasks: check.Tasks{
			"place-order":      func(map[string]any) check.Effect { return check.Effect{Creates: true} },
			"reserve-stock":    provides(factStockReserved),
			"commit-stock":     releases(factStockReserved),
			"release-stock":    releases(factStockReserved),
			"take-payment":     provides(factPaymentTaken),
			"void-payment":     releases(factPaymentTaken),
			"request-shipment": nothing,
			"cancel-shipment":  nothing,
			"apply-transition": transitionEffect,
			"await-order":      awaitEffect,
		},
		Variable:  "$.order.state",
		Overtaken: OvertakenErrors(),
		Retryable: RetryableErrors(),
		Terminal:  TerminalErrors(),
		Requires:  map[workflow.Event][]string{workflow.Pay: {factStockReserved, factPaymentTaken}},
		Released:  []string{factStockReserved},
	}
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

// awaitEffect reads which state a task waits for.
func awaitEffect(parameters map[string]any) check.Effect {
	awaited, _ := parameters["awaited"].(string)
	return check.Effect{Awaits: workflow.State(awaited), Parks: true}
}
