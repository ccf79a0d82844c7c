// Package executions looks after the Step Functions executions of orders: it starts them, finds
// orders whose execution no longer moves them, and makes those orders move again.
//
// # Model
//
// An order has one execution, named after the order. If that execution ended without
// success, it is redriven: Step Functions runs the failed state again, in the same
// execution. If the service refuses that (14 days after the end, a year after the start, at
// 25,000 events), or if the state machine itself was wrong, a successor is started under a
// name of its own. It adopts the order where the order is. Successors form a chain with
// numbers from 2; the last of the chain is the order's current execution.
//
// [Executions.Survey] goes through the orders: so it also finds an order that never had an execution, and an
// order whose execution Step Functions has forgotten. Then it goes through the executions that have failed,
// and lists those whose orders do not exist and never have: their failure was before Accept. It reads their
// inputs, newest first, up to a stored [Mark].
//
// # Guarantees
//
// Starting, redriving and starting a successor can be repeated, also by several processes at once:
// names and client tokens are derived from the execution that is repaired, so Step Functions
// accepts one of the calls. Two executions of an order at the same time move it at most once per
// transition.
//
// # Caveats
//
// A survey reads every order (of a state, if the filter names one) and describes the
// execution of each order that is not settled: one DescribeExecution, whose quota is 10 or
// 15 a second, by Region.
package executions
