package ratchettest

import (
	"fmt"
	"strings"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

// failureOf returns a function that says how the newest failed task of the order's execution failed. A step that
// fails is retried for a while, and only the execution's history says why the order does not move.
func (e *Env) failureOf(id transitions.OrderID) func() string {
	return func() string {
		arn, err := e.Backend.ExecutionARN(e.t.Context(), id)
		if err != nil {
			return ""
		}

		// An order that was placed without an execution has no history.
		events, _, err := e.Backend.Executions.History(e.t.Context(), arn, executions.HistoryPage{Limit: 1000, NewestFirst: true})
		if err != nil {
			return ""
		}

		for i, event := range events {
			if strings.HasSuffix(event.Type, "Failed") || strings.HasSuffix(event.Type, "TimedOut") {
				return fmt.Sprintf("; the task of state %s failed: %s: %s", stateOf(events[i:]), event.Error, event.Cause)
			}
		}

		return ""
	}
}

// stateOf returns the state that was entered last; events are the newest first.
func stateOf(events []executions.Event) string {
	for _, event := range events {
		if strings.HasSuffix(event.Type, "StateEntered") {
			return event.State
		}
	}

	return ""
}
