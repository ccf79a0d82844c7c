// Package calls makes one call of a handler: the filter, the time-out, a panic as an error, batches, and the
// pause after a failed call. It has the checks and the defaults that the runtimes of handlers share.
package calls
