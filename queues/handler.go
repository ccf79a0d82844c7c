package queues

import (
	"context"
	"errors"
	"slices"

	"ratchet/internal/worker"
)

// Handler does the work of one message, and decides about the message. It must be idempotent: a
// message may come more than once, also after its handler has answered Done.
//
// The context ends when another receiver may have the message (ErrMessageLost), when the call has
// taken Config.Timeout (ErrTimeout), or when the consumer stops and Config.DrainTimeout is over
// (ErrStopped); context.Cause returns which. A handler must return then, because Run waits for it.
// Its answer still counts, if the service still accepts the calls for the message.
type Handler func(ctx context.Context, m Message) Outcome

// Middleware wraps a handler, for claims, logging, tracing and the like.
type Middleware func(Handler) Handler

// The causes of the end of a handler's context, as context.Cause returns them.
var (
	// ErrMessageLost: the message's visibility could not be extended, or the service says that its
	// receipt handle is void. Another receiver may have the message.
	ErrMessageLost = errors.New("queues: message lost")
	// ErrTimeout: the call took longer than Config.Timeout or Lambda.Timeout.
	ErrTimeout = errors.New("queues: handler took too long")
	// ErrStopped: the consumer stops, and Config.DrainTimeout is over.
	ErrStopped = errors.New("queues: consumer stopped")
)

// PanicError is the error of the Retry that counts as the answer of a handler that has panicked or
// called runtime.Goexit.
type PanicError struct {
	Value any    // the argument of panic; nil for runtime.Goexit
	Stack []byte // of the handler's goroutine
}

func (e *PanicError) Error() string { return (*worker.PanicError)(e).Error() }

// wrap puts the middleware around h, the first outermost.
func wrap(h Handler, middleware []Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		h = m(h)
	}

	return h
}
