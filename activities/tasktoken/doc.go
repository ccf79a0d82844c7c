// Package tasktoken keeps the Step Functions task tokens of parked tasks: tasks that wait
// for an order to reach a state. So an execution can wait for days without a worker.
//
// # Model
//
// The executions of an order share one row. Two sides write it, each with one conditional
// update. Step Functions itself parks a token with the update of [WaitParameters], so no worker can
// lose a token. The process that sees an order move calls [Store.Moved]. If Moved comes first, the
// parking of the token is refused, and the execution looks at the order. If the token comes first,
// Moved returns it, and its caller answers the task. So no sweep has to look for tasks whose order has
// reached the awaited state.
//
// Attempts of a task are ordered by execution, redrive, known transition, visit and retry. An older
// attempt never replaces a newer one. A row is kept after its task was answered, until it expires,
// because it refuses late writes.
//
// # Guarantees
//
//   - No move is missed: if the order moves after a task was parked, Moved returns the token; if the
//     order has moved before, the task is not parked.
//   - The token of an older attempt never replaces the token of a newer one.
//   - A repeat of the newest Moved returns the same, so a crash before the answer loses nothing.
//
// # Caveats
//
// Moved must be called in the order of the transitions, as the stream's poller does.
//
// Once an execution of the order has parked a task, every execution of the order that was started
// before it is refused for good. Start a new execution only after the old one has ended, and do not
// redrive the old one after that.
//
// A task token is a bearer secret: everyone who has it can finish the task. [Token] prints and
// logs as a short digest.
package tasktoken
