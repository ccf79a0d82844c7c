// Package tasktoken keeps the Step Functions task tokens of parked tasks: tasks that wait
// for an order to reach a state. An execution can so wait for days without a worker.
//
// # Model
//
// One item per order and awaited state holds the token, and the time after which it may
// be deleted. Parking again under the same key replaces the token: Step Functions issues
// a new one for each attempt, and only the newest can be answered.
//
// # Guarantees
//
// No task is missed if the worker that parks a task reads the order afterwards, and the
// process that moves the order reads the parked tasks afterwards.
//
// # Caveats
//
// A task token is a bearer secret: with it, anyone can finish the task. [Token] prints and
// logs as a short digest.
package tasktoken
