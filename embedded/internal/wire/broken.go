package wire

import (
	"errors"
	"net/http"
)

// Broken is the error of an operation whose caller gets a broken connection and no answer.
type Broken struct{ Cause error }

// Error returns the text of the cause.
func (b *Broken) Error() string { return b.Cause.Error() }

// Unwrap returns the cause.
func (b *Broken) Unwrap() error { return b.Cause }

// breakOff ends the call without an answer, if err asks for it. A caller in the same process gets
// the cause, a socket is closed.
func breakOff(w http.ResponseWriter, err error) (done bool) {
	broken, ok := errors.AsType[*Broken](err)
	if !ok {
		return false
	}

	local, ok := w.(*response)
	if !ok {
		// net/http closes the connection and logs nothing.
		panic(http.ErrAbortHandler)
	}
	local.broken = broken.Cause

	return true
}
