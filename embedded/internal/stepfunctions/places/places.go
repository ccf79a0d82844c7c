// Package places bounds how many evaluations run at a time in the process.
package places

import (
	"context"
	"errors"
	"time"
)

// Longest is how long an evaluation waits for a place.
const Longest = time.Minute

// ErrBusy reports that no place became free in time.
var ErrBusy = errors.New("too many evaluations are running in this process")

// Places are places for evaluations. Those who wait get one in the order in which they came.
type Places chan struct{}

// New returns n free places.
func New(n int) Places { return make(Places, n) }

// Take waits for a place, at most for longest and until life ends, and returns how long it has waited. It
// fails with ErrBusy or the error of life. After nil the caller must call Free.
func (p Places) Take(life context.Context, longest time.Duration) (time.Duration, error) {
	// The usual case needs no timer.
	select {
	case p <- struct{}{}:
		return 0, nil
	default:
	}

	began := time.Now()
	alarm := time.NewTimer(longest)
	defer alarm.Stop()

	select {
	case p <- struct{}{}:
		return time.Since(began), nil
	case <-alarm.C:
		return time.Since(began), ErrBusy
	case <-life.Done():
		return time.Since(began), life.Err()
	}
}

// Free gives a place back.
func (p Places) Free() { <-p }

// Interrupted reports whether an evaluation has ended for a reason that says nothing about its expression:
// its caller has gone, or there was no place for it.
func Interrupted(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
