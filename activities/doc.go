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
//   - A slot is held before a poll is sent: a received task starts at once, or, when
//     Activity.PerSecond makes it wait, is kept alive by heartbeats.
//   - Every token has one end: its task is answered with a success or a failure, parked
//     by its handler, known to be lost, or reported as unanswered after
//     Config.AnswerTimeout. Panics, runtime.Goexit, outputs that are too large or
//     not JSON, and a stop of the worker are answered, too.
//   - An answer is sent on a context of its own, neither the handler's nor the worker's.
//     It is repeated with the same body until it is accepted, the task is lost, or
//     Config.AnswerTimeout is over. Heartbeats go on until then. Each call has a time
//     limit, so a call that hangs does not lose the task.
//   - A handler learns when its task is lost: because the service says so, or because
//     heartbeats have failed for HeartbeatSeconds less a margin. Then its context ends
//     with ErrTaskLost and nothing is answered.
//   - The worker keeps its share of the account's quotas (Rates), for each operation.
//     When calls have to wait, the task that is nearest to its time-out goes first.
//   - A stop has two phases. Polls end, and a task that an open poll still brings is run;
//     handlers may finish within DrainTimeout. Then their contexts end, and the tasks left
//     are answered with WorkerShutdown. The error of Run shows whether any were left; Abort cuts both
//     short.
//
// # Handlers
//
// Typed makes a handler of a function with typed input and output, and Register adds one
// to a worker. The context knows the task (TaskFrom) and takes progress
// (RecordHeartbeat). Fail names an error for the state machine, RetryAfter asks it to
// wait, ErrParked leaves the task to a Completer. Package activitiestest runs a handler
// in virtual time.
//
// # Caveats
//
// The service hands a task out at least once. A handler may run twice for one visit of a
// state, even at the same time, so its effects must be idempotent. When the response to
// an answer is lost, the repeated answer gets TaskTimedOut; the worker reports the task as
// Unknown, because its first answer may have counted (see Config.Resolve). A task whose
// token was lost on the wire comes back only through HeartbeatSeconds: give every
// activity state one.
package activities
