package once

import (
	"errors"
	"fmt"
	"time"
)

// Errors for a caller that wants a key.
var (
	// ErrInProgress means that another owner holds the key and its lease still runs. Retry
	// later; [RetryAt] returns when.
	ErrInProgress = errors.New("another caller is working under this key")
	// ErrMismatch means that the key was used with another payload, or for another
	// operation. It is a bug of the caller.
	ErrMismatch = errors.New("this key was used with another payload")
	// ErrUnknownOutcome means that the work may or may not have had its effect. The key
	// stays in this state until [Claims.Resolve] is called.
	ErrUnknownOutcome = errors.New("the outcome of the work under this key is unknown")
	// ErrKeyExpired means that the key carries an end that has passed. It can never be
	// claimed again.
	ErrKeyExpired = errors.New("the key has expired")
)

// Errors for the holder of a claim.
var (
	// ErrStaleOwner means that the claim was taken over, ended by an operator, or deleted.
	// A result that its former holder stored does not count.
	ErrStaleOwner = errors.New("the claim is no longer this caller's")
	// ErrLeaseExpired means that the lease ran out before the step. No other caller has
	// taken the claim over yet.
	ErrLeaseExpired = errors.New("the lease of the claim ran out")
	// ErrEnded means that this caller has ended the claim before, in another way.
	ErrEnded = errors.New("the claim has ended")
)

var (
	// ErrResultUnavailable means that the work was done, but its result was not kept, or
	// cannot be read now.
	ErrResultUnavailable = errors.New("the work was done, its result is not available")
	// ErrInvalid means that an argument breaks a rule. The text names both.
	ErrInvalid = errors.New("invalid claim")
	// ErrUnanswered means that DynamoDB did not answer a write, which may have been made. The same
	// call again finds out.
	ErrUnanswered = errors.New("DynamoDB did not answer: the write may have been made")
	// ErrCorrupt means that the item under the key was not written by this package.
	ErrCorrupt = errors.New("the item under this key is not a claim")
)

// endedError is ErrEnded with the status that the claim ended in.
type endedError struct{ status Status }

func (e endedError) Error() string { return fmt.Sprintf("%s as %s", ErrEnded, e.status) }

func (e endedError) Is(target error) bool { return target == ErrEnded || target == e }

// ErrAmbiguous marks an error that leaves open whether the work had its effect, such as the
// time-out of a gateway. If the work returns an error that wraps it, the key gets an
// unknown outcome.
var ErrAmbiguous = errors.New("the effect may or may not have happened")

// inProgressError is ErrInProgress with the time, by this machine's clock, at which the key becomes
// free at the latest, unless its holder extends the lease.
type inProgressError struct {
	until time.Time
	since time.Time // when the key was claimed, zero if that is not known
}

func (e inProgressError) Error() string {
	return fmt.Sprintf("%s until %s", ErrInProgress, e.until.UTC().Format(time.RFC3339))
}

func (e inProgressError) Is(target error) bool { return target == ErrInProgress }

// RetryAfter returns how long the caller of a key in progress does well to wait before it asks again, if now is the
// time by this machine's clock: as long as the work has taken so far, but a second at least, and no longer than
// until the key is free. How long the work takes is not known; its lease says nothing about it. RetryAfter returns
// false if err is not an ErrInProgress.
func RetryAfter(err error, now time.Time) (time.Duration, bool) {
	var e inProgressError
	if !errors.As(err, &e) {
		return 0, false
	}

	taken := e.until.Sub(now)
	if !e.since.IsZero() {
		taken = min(taken, now.Sub(e.since))
	}

	return max(taken, time.Second), true
}

// RetryAt returns when a key in progress becomes free at the latest, unless its holder
// extends the lease. The time is by this machine's clock (Config.Now), even if that clock is
// wrong. RetryAt returns false if err is not an ErrInProgress.
func RetryAt(err error) (time.Time, bool) {
	var e inProgressError
	if errors.As(err, &e) {
		return e.until, true
	}

	return time.Time{}, false
}
