// Package workflow says what an order may do: its states, its events, and which
// event leads from which state to which.
//
// # Model
//
// A [Definition] is an immutable table (state, event) → state with a name and a
// version. It is built from a [Spec], by way of a looplab/fsm machine: the machine
// is the definition and the oracle, the table is what runs. [New] refuses a spec
// with a duplicate or unknown pair, an unreachable state or a dead end, and then
// asks the machine about every pair; a definition whose table and machine
// disagree is never returned. [Order] is the definition of Ratchet's own orders.
//
// # Guarantees
//
// The package is pure: no clock, no I/O, no SDK. A Definition may be used by any
// number of goroutines; a looplab machine, which may not (a cancelled context or
// a panic wedges it for good, https://github.com/looplab/fsm/issues/115), is made
// afresh for each question in [New] and never leaves it.
//
//	next, ok := workflow.Order().Next("PENDING", "pay") // PAYMENT_RECEIVED, true
//
// # Caveats
//
// A self-transition (ship_part from PARTIALLY_SHIPPED) is a transition like any
// other: it is recorded and gets an id. looplab/fsm answers it with
// NoTransitionError, which the cross-check reads as "stays".
package workflow
