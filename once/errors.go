package once

import (
	"errors"
	"fmt"
	"time"
)

// What a claim can meet.
var (
	// ErrInProgress: another owner holds the key and its lease has not run out. Retry
	// later; [RetryAt] tells when.
	ErrInProgress = errors.New("another caller is working under this key")
	// ErrMismatch: the key was used with another payload, or for another operation. A
	// bug in the caller.
	ErrMismatch = errors.New("this key was used with another payload")
	// ErrUnknownOutcome: the work may or may not have had its effect. Only
	// [Claims.Resolve] moves the key on.
	ErrUnknownOutcome = errors.New("the outcome of the work under this key is unknown")
	// ErrKeyExpired: the key carries an end that has passed. It is never claimable again.
	ErrKeyExpired = errors.New("the key has expired")
	// ErrClockSkew: this caller's clock is further off the service's than Config.Margin.
	ErrClockSkew = errors.New("this machine's clock is too far off to hold leases")
)

// What the holder of a claim can meet.
var (
	// ErrStaleOwner: the claim was taken over, ended by an operator or swept; what its
	// former holder did counts for nothing.
	ErrStaleOwner = errors.New("the claim is no longer this caller's")
	// ErrLeaseExpired: the lease ran out before the work was completed. Nobody has
	// taken the claim over yet.
	ErrLeaseExpired = errors.New("the lease of the claim ran out")
	// ErrEnded: this caller has ended the claim before, in another way.
	ErrEnded = errors.New("the claim has ended")
)

var (
	// ErrResultUnavailable: the work was done, but what it gave was not kept, or cannot
	// be fetched now.
	ErrResultUnavailable = errors.New("the work was done, its result is not available")
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid claim")
	// ErrCorrupt: the item under the key was not written by this package.
	ErrCorrupt = errors.New("the item under this key is not a claim")
)

// held is ErrInProgress with the time at which the key is free at the latest, unless
// its holder extends the lease.
type held struct{ until time.Time }

func (h held) Error() string {
	return fmt.Sprintf("%s until %s", ErrInProgress, h.until.UTC().Format(time.RFC3339))
}
func (h held) Is(target error) bool { return target == ErrInProgress }

// RetryAt tells when a key that is in progress can be claimed at the latest, unless
// its holder extends the lease. It is false for every other error.
func RetryAt(err error) (time.Time, bool) {
	var h held
	if errors.As(err, &h) {
		return h.until, true
	}

	return time.Time{}, false
}

// ErrAmbiguous marks an error after which nobody knows whether the work had its
// effect: a gateway that timed out. Work that returns an error wrapping it leaves
// the key in the state UNKNOWN.
var ErrAmbiguous = errors.New("the effect may or may not have happened")
