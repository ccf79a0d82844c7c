// Package steps does the tasks of statemachine.asl.json: accept an order, pay, look, and
// compensate.
//
// # Model
//
// A [Step] is a name, the placeholder of its activity in the state machine, and a handler for the
// activities runtime. Every step may run twice at the same time, and again after a crash. So it passes
// a key (the order's id, or orderId/transitionId/effect) to each system that it changes.
//
// A failure has a name from a closed list. [ErrorClasses] says for each name whether the task is
// retried, for how long, and what happens after that. The Retry and Catch of the state machine are
// generated from this table (`make asl`). After a technical failure the execution fails in its task,
// so that a redrive runs the task again.
//
// If another caller has moved the order, a step fails with the order's position as its
// cause, so that the execution can go on from there.
//
// [General] has the steps that every workflow can use. Such a workflow has its own definition and state
// machine.
//
// # Caveats
//
// The payment with the id that payments.IDForOrder returns belongs to the execution. It is canceled if
// another caller pays the order, and when the order is undone. Its amount is the total of the order as
// the step pay read it. If the order is edited between the charge and the transition, the transition
// is refused, and the charged payment no longer fits the order: a person has to cancel the order.
package steps
