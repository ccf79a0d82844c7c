// Package workflow holds the definition of an order: its states, its
// events, and the transitions between the states.
//
// # Model
//
// A [Definition] is an immutable table (state, event) → state with a name and a
// version. [New] builds it from a [Spec]. New refuses a spec with a duplicate or unknown
// pair, an unreachable state or a dead end, and then asks looplab/fsm, an independent
// implementation, about every pair: a definition whose table disagrees with the library is
// never returned. [Order] is the definition of Ratchet's own orders. [Payment] and
// [Shipment] are small definitions beside it.
//
// A transition may have guards: conditions on the order's data, from a closed set that
// DynamoDB can evaluate too. [RenderGuards] makes them a part of the conditional write,
// [Guard.Holds] gives the same answer in Go.
//
// A transition may have a moment, [After], at which time makes it: a delay after the order has entered the state, or
// the time in one of its attributes. [Definition.Timed] lists the timers of a state, and [Transition.Due] says
// when each runs out.
//
// [Migrations] map the states of orders from one version of their definition to another.
//
// Five packages build on this one: workflow/file reads and writes definition files,
// workflow/check compares a definition with a Step Functions state machine, workflow/diagram draws
// it, workflow/plan computes quotas and costs, and workflow/scaffold writes a new one to start from.
//
// # Guarantees
//
// The package is pure: no clock, no I/O, no SDK, no file formats. A Definition may be used
// by any number of goroutines. [Definition.Next] allocates nothing.
//
//	next, ok := workflow.Order().Next("PENDING", "pay") // PAYMENT_RECEIVED, true
//
// # Caveats
//
// A transition to its own state (ship_part from PARTIALLY_SHIPPED) is a transition like any
// other: it is recorded and gets an id.
//
// A looplab machine must not be shared: a canceled context or a panic blocks it
// (https://github.com/looplab/fsm/issues/115). New makes machines of its own and drops them.
package workflow
