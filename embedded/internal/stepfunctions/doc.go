// Package stepfunctions is AWS Step Functions, Standard workflows, inside the
// process: state machines, executions with their history, and activities, over
// the real wire protocol (AWS JSON 1.0, target "AWSStepFunctions"). The SDK's
// client cannot tell it from the service for what is listed below.
//
// # Model
//
// An execution is a pure step function (package execution) over a definition
// that was compiled once (package asl). Each stimulus (a start, a task's start,
// completion or heartbeat, a timer, a stop, a redrive) is applied under the
// execution's lock, and its whole effect is one batch: the new state and the
// history events of that turn. Queues and timers are indexes in memory, rebuilt
// by New from the states of running executions, which are a few hundred bytes
// each; documents live in the history only.
//
// # Guarantees
//
//   - What was answered is on disk, and so is everything that was told to
//     somebody: started executions, held tokens, heartbeats, timers and names
//     survive kill -9.
//   - Of several completions of one task exactly one counts; the others get
//     TaskTimedOut, as at AWS. A completion after its deadline is late even when
//     the timer has not run yet.
//   - A task is marked as started only for a caller that is still there. It
//     can then still be lost with the answer, as at AWS, and HeartbeatSeconds
//     brings it back. Tasks of an activity are handed out first in, first out.
//   - For activities TimeoutSeconds and HeartbeatSeconds count from
//     ActivityStarted; waiting in the queue is bounded by the machine's
//     TimeoutSeconds only.
//   - An execution stays with the definition that it started with.
//
// # Supported
//
// Operations: CreateStateMachine, UpdateStateMachine, DescribeStateMachine,
// ListStateMachines, DeleteStateMachine, ValidateStateMachineDefinition,
// StartExecution, DescribeExecution, DescribeStateMachineForExecution,
// ListExecutions, StopExecution, RedriveExecution, GetExecutionHistory,
// CreateActivity, DescribeActivity, ListActivities, DeleteActivity,
// GetActivityTask, SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat.
//
// Language (JSONPath): Task with activity ARNs, Pass, Choice with all operators,
// Wait, Parallel, Map (inline, at most 40 iterations at a time), Succeed, Fail;
// InputPath, Parameters, ItemSelector, ResultSelector, ResultPath, OutputPath;
// Retry with back-off, bound and jitter; Catch; time-outs and heartbeats, also by
// path; the context object; all 18 intrinsic functions. Limits: 256 KiB for
// documents, 25,000 events, 1 MiB for definitions.
//
// # Refused
//
// With the service's own errors, in words that say so: EXPRESS machines, JSONata,
// variables (Assign), task resources other than activities, task credentials,
// distributed Map, versions and aliases, tags, keys of the customer's own,
// maxResults over 1,000. All other operations get UnknownOperationException.
//
// # Where it differs
//
//   - DeleteStateMachine aborts the machine's executions and removes them before
//     it answers; at AWS that takes a while. Until then the status is DELETING.
//   - Histories are kept as long as the machine; at AWS 90 days.
//   - Logging and tracing configurations are kept and described, and do nothing.
//   - Throttling and the account's quotas do not exist.
//   - States.MathRandom with a seed repeats itself, but not AWS's numbers.
//   - $$.Task.Token is absent, as at AWS for activities: the token comes from
//     GetActivityTask.
//   - A missed heartbeat is recorded as States.Timeout, as AWS records it;
//     ErrorEquals takes it as States.HeartbeatTimeout and as States.Timeout.
//   - States.Runtime ends the execution whatever Retry and Catch say;
//     States.ALL does not take States.DataLimitExceeded. Both as documented.
//   - Redrive runs a failed state again in place, without a new StateEntered.
//
// Background work is Run: it fires timers, and does nothing else. A service that
// does not run still serves every call.
package stepfunctions
