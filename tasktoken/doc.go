// Package parked keeps Step Functions task tokens that wait for an order to reach a
// state, so that an execution can wait for days without a worker.
//
// # Model
//
// One item per order and awaited state: the token, and when it may be forgotten.
// Parking again under the same key replaces the token: Step Functions hands out a
// new one for each attempt, and only the newest can be answered.
//
// # Guarantees
//
// Who parks first and reads the order afterwards, and who answers after the order
// has moved, cannot miss each other.
//
// # Caveats
//
// A task token is a bearer secret: whoever has it can finish the task. It is never
// logged, and printed as a short digest.
package tasktoken
