package queues

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Handler does the work that one message asks for, and says what becomes of the
// message. It must be idempotent: a message may come more than once, also after its
// handler has answered Done.
//
// The context ends when the message is lost to another receiver (ErrMessageLost),
// when the call has taken the handler's time-out (ErrTimeout), or when the drain
// after a stop is over (ErrStopped); context.Cause tells which. A handler must
// honour it: the consumer waits. An answer given after that still counts as far as
// the service lets it.
type Handler func(ctx context.Context, m Message) Outcome

// Middleware wraps a handler, for claims, logging, tracing and the like.
type Middleware func(Handler) Handler

// What ended a handler's context, as told by context.Cause.
var (
	// ErrMessageLost: the message's visibility could not be extended, or the service
	// says that it is not ours. Another receiver may be at work on it already.
	ErrMessageLost = errors.New("queues: message lost")
	// ErrTimeout: the call took longer than the handler's time-out.
	ErrTimeout = errors.New("queues: handler took too long")
	// ErrStopped: the consumer stops and the drain is over.
	ErrStopped = errors.New("queues: consumer stopped")
)

// PanicError is the reason of the Retry that a panicking handler is taken to have
// answered.
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

// wrap puts the middleware around h, the first outermost.
func wrap(h Handler, middleware []Middleware) Handler {
	for i := len(middleware) - 1; i >= 0; i-- {
		h = middleware[i](h)
	}
	return h
}

// call runs the handler; a panic is a Retry. After runtime.Goexit the outcome stands
// in *out although call does not return.
func call(ctx context.Context, h Handler, m Message, out *Outcome) {
	*out = Retry(0, &PanicError{})
	defer func() {
		if v := recover(); v != nil {
			*out = Retry(0, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	*out = h(ctx, m)
}
