// Package activities runs Step Functions activity tasks.
//
// A [Worker] serves any number of activities. For each activity it takes a free slot, polls for a
// task, sends heartbeats from the moment the token arrives, calls the handler, and answers with its
// output or with a named failure. The worker knows nothing about the meaning of the tasks.
//
//	w, err := activities.New(activities.Config{
//		SFN: sfn.NewFromConfig(cfg),
//		Activities: []activities.Activity{{
//			ARN:       arn,
//			Heartbeat: 30 * time.Second, // HeartbeatSeconds of the state
//			Handle: func(ctx context.Context, t activities.Task) (any, error) {
//				return map[string]string{"greeting": "hello"}, nil
//			},
//		}},
//	})
//	...
//	err = w.Run(ctx) // until ctx ends and the last task is answered
//
// # Guarantees
//
//   - The worker takes a slot before it sends a poll. So a received task starts at once. If
//     Activity.PerSecond makes the task wait, heartbeats keep it alive.
//   - Every task has one reported end: it is answered with a success or a failure, parked by its
//     handler, lost, unanswered after 5 minutes, or its outcome is unknown. Panics, runtime.Goexit,
//     outputs that are too large or not JSON, and a stop of the worker are answered, too.
//   - The end of the handler's context, or of the context of Run, does not end an answer. The answer is
//     repeated with the same body until it is accepted, the task is lost, or 5 minutes are over.
//     Heartbeats go on until then. Each call has a time limit, so a call that hangs does not lose the
//     task.
//   - A handler learns that its task is lost, because the service says so, or because heartbeats have
//     failed for nine tenths of HeartbeatSeconds. Then the handler's context ends with ErrTaskLost. No
//     failure is sent after that, and an output only if the service may still accept it.
//   - For each operation the worker keeps to its share of the account's quota (Rates). When calls have
//     to wait, the task that is nearest to its time-out goes first.
//   - A stop has two phases. First polls end, and handlers may finish within DrainTimeout; a task that
//     an open poll still brings is run. Then the contexts of the handlers end, and the tasks that are
//     left are answered with WorkerShutdown. The error of Run shows whether any were left. Abort cuts
//     both phases short.
//
// # Handlers
//
// Typed makes a handler of a function with typed input and output, and Register adds such a handler
// to a worker. In a handler, TaskFrom returns the task of the context, and RecordHeartbeat records
// progress. Fail gives an error a name for the state machine. RetryAfter asks the state machine to
// wait before it retries. ErrParked leaves the answer to a Completer. Package activitiestest runs a
// handler in virtual time.
//
// # Caveats
//
// The service hands a task out at least once. A handler may run twice for one visit of a
// state, even at the same time, so its effects must be idempotent. When the response to an answer is
// lost, the service refuses the repeated answer with TaskTimedOut. The worker then reports the task as
// Unknown, because the service may have accepted the first answer (see Config.Resolve). If the
// service's answer with a token is lost on the wire, the task runs again only after HeartbeatSeconds:
// set it for every activity state.
package activities
