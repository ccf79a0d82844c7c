// Package stepfunctions is AWS Step Functions, Standard workflows, inside the process:
// state machines, executions with their history, and activities, over the real wire
// protocol (AWS JSON 1.0, target "AWSStepFunctions"). For the operations listed below, an
// SDK client works as it does with the service.
//
//	service, err := stepfunctions.New(db, stepfunctions.Config{Region: "us-east-1", AccountID: "000000000000"})
//	go service.Run(ctx) // timers
//	handler := wire.NewHandler(log, service.Wire())
//
// # Model
//
// A definition is compiled once (package asl). An execution is a pure function of stimuli
// (package execution): a start, a task's start, completion or heartbeat, a timer, a stop,
// a redrive. The service applies each stimulus under the execution's lock and stores its
// whole effect as one batch: the new state and the history events of that turn (stimulate.go,
// store.go). The operations are listed in operations.go.
//
// Task queues and timers are indexes in memory. New rebuilds them from the states of
// running executions, a few hundred bytes each. Documents are in the history only.
//
// # Guarantees
//
//   - What was answered is on disk: started executions, task tokens, heartbeats, timers and
//     names survive kill -9.
//   - Of several completions of one task exactly one counts. The others get TaskTimedOut, as
//     on AWS. A completion after the deadline is late, also when the timer has not run yet.
//   - A task is marked as started only while its caller is still connected. The answer can
//     still be lost on its way, as on AWS; HeartbeatSeconds then brings the task back. An
//     activity gives out its tasks in the order in which they were scheduled.
//   - For activities TimeoutSeconds and HeartbeatSeconds count from ActivityStarted. Only
//     the machine's TimeoutSeconds bounds the wait in the queue.
//   - An execution keeps the definition with which it was started.
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
// Language (JSONPath): Task with activity ARNs and with the service integrations below, Pass, Choice with all operators,
// Wait, Parallel, Map (inline, at most 40 iterations at a time), Succeed, Fail;
// InputPath, Parameters, ItemSelector, ResultSelector, ResultPath, OutputPath;
// Retry with backoff, maximum delay and jitter; Catch; timeouts and heartbeats, also by
// path; the context object; all 18 intrinsic functions. Limits: 256 KiB for documents,
// 25,000 events, 1 MiB for definitions.
//
// Service integrations (asl/integration.go, call.go): the operations of DynamoDB and SQS as
// AWS SDK integrations (arn:aws:states:::aws-sdk:dynamodb:updateItem), request-response and
// .waitForTaskToken, and the optimized dynamodb:getItem, putItem, updateItem, deleteItem and
// sqs:sendMessage. The engine calls its own services. A call runs at least once: one that a
// stop interrupts is made again.
//
// # Not supported
//
// EXPRESS machines, JSONata, variables (Assign), other task resources,
// task credentials, distributed Map, versions and aliases, tags, customer-managed keys and
// maxResults over 1,000. Requests for them fail with the service's own errors and a text
// that names the feature. All other operations answer UnknownOperationException.
//
// # Differences from AWS
//
//   - DeleteStateMachine aborts and removes the machine's executions before it answers. On
//     AWS that happens later. Meanwhile the status is DELETING.
//   - Histories are kept as long as the machine, and not for 90 days.
//   - Logging and tracing configurations are stored and described, and have no effect.
//   - There is no throttling and no account quota.
//   - States.MathRandom with a seed repeats its numbers, which are not those of AWS.
//   - $$.Task.Token is absent for activities, as on AWS: GetActivityTask returns the token.
//   - The answer of an optimized integration has no SdkHttpMetadata.
//   - A missed heartbeat is recorded as States.Timeout, as on AWS. ErrorEquals matches it as
//     States.HeartbeatTimeout and as States.Timeout.
//   - States.Runtime ends the execution whatever Retry and Catch say, and States.ALL does
//     not match States.DataLimitExceeded. Both are as documented by AWS.
//   - Redrive runs a failed state again in place, without a new StateEntered.
//
// Timers and service integrations act only while Run runs; every other operation works
// without it.
package stepfunctions
