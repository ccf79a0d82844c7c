package streams

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// HandlerFunc acts on one record. A nil error finishes the record for this
// handler. Any other is retried after a pause, and after the handler's attempts
// the record becomes a dead letter; Permanent skips the retries, and NotYet retries
// without counting.
//
// The context ends when the call has taken Handler.Timeout, when the lease of
// the shard is lost, or when the poller's drain is over (context.Cause tells
// which: ErrTimeout, ErrLeaseLost, ErrStopped). A call that ends in one of the
// last two is nobody's fault: it is no attempt, and the next holder repeats it.
// A handler must honour its context: Run waits for it.
type HandlerFunc func(ctx context.Context, r Record) error

// Middleware wraps a handler, for logging, tracing, fencing and the like.
type Middleware func(HandlerFunc) HandlerFunc

// Handler is one subscriber of the stream. All handlers share one reader; each
// has its own retries and dead letters, and a broken one does not hold up the
// others until the poller's window (Config.Window) is full.
type Handler struct {
	// Name identifies the handler in dead letters, metrics and effect keys. It
	// must be unique in the poller and must stay the same over deploys.
	Name string
	// Filter says whether a record concerns the handler; nil takes all. It runs
	// in the reader, so it must be quick and must not block.
	Filter func(Record) bool
	// Handle acts on the record.
	Handle HandlerFunc
	// Attempts is how many calls a record gets before it becomes a dead letter.
	// 0 means Config.Retry.Attempts; a negative number means no end: then the
	// item's later records wait for as long as it takes.
	Attempts int
	// Timeout bounds one call. 0 means Config.HandlerTimeout.
	Timeout time.Duration
	// Unordered gives up the order within an item for this handler: records of
	// the same item may run at once and pass one that is being retried.
	Unordered bool
}

// What ended a handler's context, as told by context.Cause.
var (
	ErrTimeout   = errors.New("streams: handler timed out")
	ErrLeaseLost = errors.New("streams: lease of the shard lost")
	ErrStopped   = errors.New("streams: poller stopped")
)

// Permanent marks an error that no retry will cure. The record becomes a dead
// letter at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// IsPermanent reports whether err or one that it wraps came from Permanent.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// NotYet marks an error that is nobody's fault and will pass: another worker is doing
// this very thing, say. The call is no attempt and is repeated, after a pause of a
// second at most, for as long as it takes; the item's later records wait. NotYet(nil)
// is nil.
func NotYet(err error) error {
	if err == nil {
		return nil
	}
	return &notYetError{err}
}

type notYetError struct{ err error }

func (e *notYetError) Error() string { return e.err.Error() }
func (e *notYetError) Unwrap() error { return e.err }

// IsNotYet reports whether err or one that it wraps came from NotYet.
func IsNotYet(err error) bool {
	var n *notYetError
	return errors.As(err, &n)
}

// PanicError is what a panicking handler is taken to have returned.
type PanicError struct {
	Value any    // what was passed to panic; nil for runtime.Goexit
	Stack []byte // of the handler's goroutine
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "handler called runtime.Goexit"
	}
	return fmt.Sprintf("handler panicked: %v", e.Value)
}
