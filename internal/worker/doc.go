// Package worker is the kernel that the runtimes (activities, streams, queues) share: how
// a handler's panic becomes an error, how a runtime drains, which errors are permanent,
// how a repeated message reaches the log only now and then, and how to wait.
package worker
