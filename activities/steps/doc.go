// Package steps does the tasks of statemachine.asl.json: accept an order, pay, look, and
// compensate.
//
// # Model
//
// A [Step] is a name, the placeholder of its activity in the state machine, and a handler
// for the activities runtime. Every step may run twice at the same time and again after a
// crash: each passes a key (the order, or orderId/incarnation/transitionId/effect) to the system that it changes.
//
// A failure has a name from a closed list. [ErrorClasses] says for each name whether it is retried,
// how long, and what happens after that. The Retry and Catch of the state machine are generated from
// it (`make asl`). A technical failure ends the execution in its task, so that a redrive runs the
// task again.
//
// If another caller has moved the order, a step fails with the order's position as its
// cause, so that the execution can go on from there.
//
// [General] has the steps that any workflow can use, with a definition and a state machine of its own.
//
// # Caveats
//
// The payment with the id that payments.IDForOrder returns belongs to the execution: it is
// canceled if another caller pays the order, and when the order is undone. The amount is the order's
// total when it is paid; an edit between the charge and the transition that follows is not noticed.
package steps
