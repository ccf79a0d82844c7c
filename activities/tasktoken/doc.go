// Package tasktoken keeps the Step Functions task tokens of parked tasks: tasks that wait
// for an order to reach a state. So an execution can wait for days without a worker.
//
// # Model
//
// The executions of an order share one row. Two sides write it, each with one conditional
// update. Step Functions itself parks a token with the update of [WaitParameters], so no
// worker can lose one. The process that sees an order move writes [Store.Moved]. If the move is
// first, the token is refused, and the execution then looks at the order. If the token is first, the
// move gets the token, and its process answers the task. No sweep has to look for tokens whose state
// has arrived.
//
// Attempts of a task are ordered by execution, redrive, known transition, visit and retry,
// and an older one never replaces a newer one. Rows are kept after the answer, until they
// expire: they refuse late writes.
//
// # Guarantees
//
//   - No arrival is missed: if a task was parked and its order moves, Moved returns the token;
//     if its order has moved, the task is not parked.
//   - The token of an older attempt never replaces a newer one.
//   - A repeated Moved returns the same, so a crash before the answer loses nothing.
//
// # Caveats
//
// Moved must be called in the order of the transitions, as the stream's poller does.
//
// An execution that was started before the newest one of its order is refused for good.
// Start a new one only after the old one has ended, and do not redrive the old one then.
//
// A task token is a bearer secret: with it, anyone can finish the task. [Token] prints and
// logs as a short digest.
package tasktoken
