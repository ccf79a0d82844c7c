package worker

import (
	"fmt"
	"runtime/debug"
)

// PanicError is the error of a function that panicked or called runtime.Goexit.
type PanicError struct {
	Value any    // the argument of panic; nil for runtime.Goexit
	Stack []byte // of the goroutine that panicked, as debug.Stack formats it
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "handler called runtime.Goexit"
	}

	return fmt.Sprintf("handler panicked: %v", e.Value)
}

// Call runs fn and returns its error. A panic or a call of runtime.Goexit in fn becomes
// a *PanicError.
//
// Nothing can stop the end of a goroutine that called runtime.Goexit, so Call runs fn on
// a goroutine of its own and waits for it. That costs less than a microsecond; see
// CatchPanic for callbacks where it matters.
func Call(fn func() error) error {
	result := make(chan error, 1)

	go func() {
		var err error
		returned := false

		defer func() {
			// recover returns nil after runtime.Goexit. A panic(nil) is a
			// *runtime.PanicNilError since Go 1.21, so the two cannot be confused.
			if !returned {
				err = &PanicError{Value: recover(), Stack: debug.Stack()}
			}
			result <- err
		}()

		err = fn()
		returned = true
	}()

	return <-result
}

// CatchPanic runs fn on the caller's goroutine and returns its error. A panic becomes a
// *PanicError; runtime.Goexit ends the caller's goroutine.
func CatchPanic(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()

	return fn()
}
