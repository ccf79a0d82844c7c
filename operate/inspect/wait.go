package inspect

import (
	"ratchet/transitions"
	"ratchet/workflow"
)

// EndsWait reports whether the order ends a wait for a state. The wait began when the execution
// knew of transition since. It ends when the order has come to the state, or can no longer come to
// it.
func EndsWait(o *transitions.Orders, order *transitions.Order, awaited workflow.State, since transitions.TransitionID) bool {
	return order.TransitionID > since && order.Reached(awaited, since) || !o.Definition().Reachable(order.State, awaited)
}
