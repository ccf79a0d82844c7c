// Package steps is what the tasks of statemachine.asl.json do: place, reserve, pay,
// apply a transition, ship, wait, and undo.
//
// # Model
//
// A [Step] is a name, the placeholder of its activity in the state machine, and a
// handler for the activities runtime. Every step may run twice at the same time and
// again after a crash: each carries a key (the order, or orderId/transitionId/effect)
// to what it touches. A failure has a name from a closed list (errors.go), which the
// state machine's Retry and Catch repeat; a test holds the two together.
//
// A transition that another caller has overtaken fails with the order's position as
// its cause, so that the execution can go on from there.
package steps
