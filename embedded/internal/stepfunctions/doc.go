// Package stepfunctions is AWS Step Functions inside the process:
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
// store.go). The operations are listed in operations.go and, with their rooms, in machines, activities and
// mapruns.
//
// Task queues and timers are indexes in memory (package waiting). New rebuilds them from the states of
// running executions, a few hundred bytes each. Documents are in the history only.
//
// # Rooms
//
// Here is the way of an execution: execution_start.go, poll.go and task.go begin its turns, calls.go and
// run.go those that no client begins. Below are rooms, none of which knows this package: keys, arns, requests
// and pages are the forms of what is stored and said; settings, machines and activities are what an execution
// finds; mapruns counts children; waiting and recent are memory; integrations and lambda make calls. asl,
// jsonpath, jsonata, execution, events and teststate are the language.
//
// # Guarantees
//
//   - Every answer is on disk before it is sent: started executions, task tokens, heartbeats, timers and
//     names survive kill -9.
//   - Of several completions of one task exactly one counts. The others get TaskTimedOut, as
//     on AWS. A completion after the deadline is late, also when the timer has not run yet.
//   - A task is marked as started only while its caller is still connected. The answer can
//     still be lost on its way, as on AWS; HeartbeatSeconds then brings the task back. An
//     activity gives out its tasks in the order in which they were scheduled.
//   - For activities TimeoutSeconds and HeartbeatSeconds count from ActivityStarted. Only
//     the machine's TimeoutSeconds bounds the wait in the queue.
//   - An execution keeps the definition of its start.
//
// # Supported
//
// Operations: CreateStateMachine, UpdateStateMachine, DescribeStateMachine,
// ListStateMachines, DeleteStateMachine, ValidateStateMachineDefinition,
// StartExecution, DescribeExecution, DescribeStateMachineForExecution,
// ListExecutions, StopExecution, RedriveExecution, GetExecutionHistory,
// CreateActivity, DescribeActivity, ListActivities, DeleteActivity,
// GetActivityTask, SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat,
// TagResource, UntagResource, ListTagsForResource,
// PublishStateMachineVersion, DeleteStateMachineVersion, ListStateMachineVersions,
// CreateStateMachineAlias, DescribeStateMachineAlias, UpdateStateMachineAlias,
// DeleteStateMachineAlias, ListStateMachineAliases, TestState, StartSyncExecution,
// DescribeMapRun, ListMapRuns, UpdateMapRun.
//
// Express machines (express.go): StartExecution stores the request and runs it at least once,
// up to 1,000 executions at a time; StartSyncExecution stores nothing. Both end after five
// minutes and refuse activities, .sync and .waitForTaskToken.
//
// Language (JSONPath and JSONata): Task with the ARNs of activities and functions and with the
// service integrations below, Pass, Choice with all operators, variables (Assign, $name), Wait,
// Parallel, Map (inline, at most 40 iterations at a time, or distributed), Succeed, Fail;
// InputPath, Parameters, ItemSelector, ResultSelector, ResultPath, OutputPath, and in JSONata
// Arguments, Output, Items and Condition; Retry with backoff, maximum delay and jitter; Catch;
// timeouts and heartbeats, also by path; the context object; all 18 intrinsic functions. Limits:
// 256 KiB for documents, 25,000 events, 1 MiB for definitions.
//
// Distributed Maps (package mapruns) run each item of the state's input, or each batch of items, as
// an execution of its own. The state waits for a Map Run, a record that counts its children.
// Each turn of a child and each turn of the parent that concerns the Map Run changes the record
// in its own batch, so that the record always agrees with the executions. One goroutine of Run
// reads the records that have changed and takes the next steps (maprun_advance.go, maprun_end.go): it starts,
// redrives and stops children, and reports the end to the parent. The input of a child is
// computed when the child starts, from the first item that the record says no child has.
//
// Service integrations (asl/integration.go, calls.go, package integrations): the operations of DynamoDB, SQS
// and Step Functions as AWS SDK integrations (arn:aws:states:::aws-sdk:dynamodb:updateItem),
// request-response and .waitForTaskToken, and the optimized dynamodb:getItem, putItem,
// updateItem, deleteItem, sqs:sendMessage and states:startExecution, the last one also with
// .sync and .sync:2. The engine calls its own services. A call runs at least once: a call that a stop
// interrupts is made again. An execution that a task starts without a name is started once.
//
// Functions of the embedding program (package lambda) run through lambda:invoke, or by a function's ARN as the
// Resource. In the second form the function gets the state's input as its payload, the function's result
// is the task's result, and the history has the LambdaFunction events.
//
// # Not supported
//
// Other task resources, task credentials, ItemReader and ResultWriter, customer-managed keys and
// maxResults over 1,000. Requests for them fail with the service's own errors and a text
// that names the feature. All other operations answer UnknownOperationException.
//
// # Differences from AWS
//
//   - DeleteStateMachine aborts and removes the machine's executions before it answers. On
//     AWS that happens later. Meanwhile the status is DELETING.
//   - Histories are kept as long as the machine, and not for 90 days.
//   - Logging, tracing and encryption configurations are stored and described, and have no effect.
//   - There is no throttling and no account quota.
//   - States.MathRandom with a seed repeats its own numbers. AWS gives other numbers for that seed.
//   - $$.Task.Token is absent for activities, as on AWS: GetActivityTask returns the token.
//   - The answer of an optimized integration has no SdkHttpMetadata.
//   - A missed heartbeat is recorded as States.Timeout, as on AWS. ErrorEquals matches it as
//     States.HeartbeatTimeout and as States.Timeout.
//   - States.Runtime ends the execution whatever Retry and Catch say, and States.ALL does
//     not match States.DataLimitExceeded, except for the answer of a call. AWS has
//     documented or answered both.
//   - A function that does not exist fails with LambdaFunctionFailed and with the error and the cause
//     that AWS gives for lambda:invoke. There is no LambdaFunctionScheduleFailed and no
//     LambdaFunctionStartFailed. The events of the start of a call and of a function have the time of
//     its answer. HeartbeatSeconds has no effect on a function.
//   - $ in the Assign of a Task, Parallel or Map is the result before ResultSelector. AWS's pages do not
//     say whether it is that result or the selected one.
//   - A path with .. or filters reads its document up to 4 GiB in all and matches up to 16 MiB. A path
//     that would need more fails with States.Runtime.
//   - Paths inside a filter, as in $.list[?(@.id == $.id)], cannot begin with a variable.
//   - TestState moves its clock on instead of waiting, and takes no mapItemReaderData. It checks mocks of
//     the optimized integrations of DynamoDB, SQS, Lambda and Step Functions. It accepts any mock of
//     another call.
//   - Causes of refused calls have no request ID.
//   - A tolerance of an inline Map has no effect.
//   - SDKs send TestState and StartSyncExecution to the
//     host "sync-" + host: over a socket, turn the prefix off in the SDK (Go: an APIOption with
//     smithyhttp.DisableEndpointHostPrefix; boto3: Config(inject_host_prefix=False);
//     JavaScript: disableHostPrefix) or use a name that resolves with the prefix.
//   - An execution that a .sync task has started goes on when the task is aborted or times out.
//   - Express executions have no log: their end is a message of level debug in the engine's
//     log. Their histories, too, are limited to 25,000 events.
//   - Redrive runs a failed state again in place, without a new StateEntered.
//   - Express executions that a Map Run has started are stored: after a crash they go on where they were,
//     and DescribeExecution counts a redrive of them as one. Their histories cannot be read, as on AWS.
//   - A child that StopExecution has aborted does not count as a failure of its Map. AWS's pages
//     name failed and timed-out items only.
//   - The number of children that a Map Run with an ItemBatcher has yet to start is computed
//     from MaxItemsPerBatch.
//   - $$.StateMachine of a child has the ARN and the name with the label. AWS's pages do not say
//     whether it has.
//
// Timers and service integrations act only while Run runs; every other operation works
// without it.
package stepfunctions
