// Package worker is the kernel that the runtimes (activities, streams, queues) share.
//
//   - [Call] and [CatchPanic] turn the panic of a callback into a [PanicError].
//   - [Drain] stops a runtime in phases: polls end, handlers finish, contexts are
//     canceled.
//   - [Backoff] is the one policy for the waits between retries; [Retry] is a retry loop
//     on top of it; [Wait] and [WaitRetry] are single waits.
//   - [Permanent] marks an error that no retry can change; [IsRefusal] recognizes the
//     errors of AWS that last until an operator acts.
//   - [LogThrottle] lets a repeated message reach the log once a minute.
//
// The package knows no queue, stream or activity, and imports no other package of this
// module. Time comes from package time, so tests run it under testing/synctest.
package worker
