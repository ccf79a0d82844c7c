package scheduled

import (
	"errors"
	"fmt"
)

// Errors of placing a request. Nothing was stored.
var (
	// ErrTime: the time is more than a minute past, or more than 366 days ahead.
	ErrTime = errors.New("the time must be at most 366 days ahead, and not past")
	// ErrFull: as many requests of the order wait as may.
	ErrFull = fmt.Errorf("%d requests of the order wait already", mostWaiting)
	// ErrConflict: a request with this id has other content, or was placed for another time.
	ErrConflict = errors.New("the request id was used for another request")
	// ErrAnotherLife: the order is in another life than the request names, or its person was erased.
	ErrAnotherLife = errors.New("the order is not in the life that the request is for")
)

var (
	// ErrNotFound: the order has no such request, or had it long ago.
	ErrNotFound = errors.New("the order has no such scheduled request")
	// ErrEnded is the kind of an [EndedError].
	ErrEnded = errors.New("the request has ended")
)

// EndedError says that a request can no longer be moved or withdrawn: it was applied, refused or withdrawn. It is an
// ErrEnded.
type EndedError struct {
	// Request is the request as it has ended.
	Request Request
}

func (e *EndedError) Error() string {
	return "the request has ended: it is " + string(e.Request.Status)
}

// Unwrap returns ErrEnded.
func (e *EndedError) Unwrap() error { return ErrEnded }
