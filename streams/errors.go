package streams

import (
	"errors"
	"fmt"
	"time"

	"ratchet/internal/worker"
)

// The causes of the end of a handler's context, as context.Cause returns them.
var (
	// ErrTimeout: the call took longer than Handler.Timeout.
	ErrTimeout = errors.New("streams: handler timed out")
	// ErrLeaseLost: another worker may now read the shard.
	ErrLeaseLost = errors.New("streams: lease of the shard lost")
	// ErrStopped: the poller was stopped and Config.DrainTimeout is over.
	ErrStopped = errors.New("streams: poller stopped")
)

// Errors of Poller.Run.
var (
	// ErrStreamEnded reports that the stream named by Config.StreamARN was disabled
	// and has been handled to its end, or that it does not exist.
	ErrStreamEnded = errors.New("streams: stream ended")
	// ErrNoStream reports that the table has no stream, or that every stream of it is handled to
	// its end.
	ErrNoStream = errors.New("streams: table has no stream")
)

// ErrTooOld is the error of a record that was older than Handler.MaxAge.
var ErrTooOld = errors.New("streams: record is too old")

// ErrSkipped is wrapped by the errors of Skip.
var ErrSkipped = errors.New("streams: record skipped")

// Skip says that the record needs no handling any more, for example because the item has newer
// changes. The record is finished without a retry and without a dead letter; a redrive reports the
// reason and leaves the dead letter as it is.
func Skip(reason error) error { return fmt.Errorf("%w: %w", ErrSkipped, reason) }

// Permanent marks an error that no retry can change. The record becomes a dead
// letter at once. Permanent(nil) is nil.
func Permanent(err error) error { return worker.Permanent(err) }

// IsPermanent reports whether err, or an error that it wraps, came from Permanent.
func IsPermanent(err error) bool { return worker.IsPermanent(err) }

// NotYet marks an error that is not a failure and ends by itself. For example, another worker holds
// the claim for this piece of work. The call does not count as an attempt. The call is repeated
// until it returns something else. The pauses are at most one second, or one minute when the record
// waits in the retry queue. The item's later records wait. NotYet(nil) is nil.
func NotYet(err error) error {
	if err == nil {
		return nil
	}

	return &notYetError{err}
}

// IsNotYet reports whether err, or an error that it wraps, came from NotYet.
func IsNotYet(err error) bool {
	_, is := errors.AsType[*notYetError](err)
	return is
}

type notYetError struct{ error }

func (e *notYetError) Unwrap() error { return e.error }

// RetryAfter marks an error whose source asked for a pause, as HTTP's Retry-After does. The pause
// before the next call is wait or the pause of the backoff, whichever is longer. Any error with a
// method RetryAfter() time.Duration does the same. RetryAfter(nil, wait) is nil.
func RetryAfter(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}

	return &retryAfterError{err, wait}
}

type retryAfterError struct {
	error
	wait time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

// RetryAfter returns the pause that was asked for.
func (e *retryAfterError) RetryAfter() time.Duration { return e.wait }

// PanicError is the error of a handler or filter that panicked or called
// runtime.Goexit.
type PanicError = worker.PanicError

// ErrTooManyGroups is passed to Events.Fault while more than two groups read a stream: the service
// allows two readers for each shard and throttles more than two.
var ErrTooManyGroups = errors.New("streams: more than two groups read the stream")
