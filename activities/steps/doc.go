// Package steps does the tasks of statemachine.asl.json: place, reserve, pay, apply a
// transition, ship, wait, and undo.
//
// # Model
//
// A [Step] is a name, the placeholder of its activity in the state machine, and a handler
// for the activities runtime. Every step may run twice at the same time and again after a
// crash: each passes a key (the order, or orderId/transitionId/effect) to what it changes. A
// failure has a name from a closed list (errors.go), which the Retry and Catch of the state
// machine repeat. A test compares the two.
//
// If another caller has moved the order, a transition fails with the order's position as
// its cause, so that the execution can go on from there.
package steps
