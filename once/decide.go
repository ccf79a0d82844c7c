package once

import (
	"time"
)

// decision says how a claim proceeds with the record under its key.
type decision int

const (
	claimFree        decision = iota // there is no record: claim the key
	ours                             // this call, or an earlier one of the same name, has claimed it; the answer was lost
	takeOver                         // claim it from its last holder
	leaseRanOut                      // the lease ran out, and the operation treats that as an unknown outcome
	replay                           // return the result
	replayFailure                    // return the final failure
	refuseMismatch                   // the payload is another one
	refuseUnknown                    // the outcome is unknown
	refuseInProgress                 // the lease of another holder runs
)

// decide follows a fixed order: an expired record counts as absent, another payload is
// refused whatever the status, and only then does the status matter. It has no side
// effects.
func (a *attempt) decide(r *Record, now time.Time, margin time.Duration, expiredIsUnknown bool) decision {
	switch {
	case r == nil:
		return claimFree
	// A named request owns its claim only during the lease. Afterwards a repeat takes over like
	// any other caller.
	case r.Status == StatusInProgress && r.owner == a.owner && a.matches(r.fingerprint) && (!a.named || now.Before(r.LeaseUntil)):
		return ours
	case r.expired(now):
		return takeOver
	case !a.matches(r.fingerprint):
		return refuseMismatch
	}

	switch r.Status {
	case StatusCompleted:
		return replay
	case StatusFailed:
		return replayFailure
	case StatusUnknown:
		return refuseUnknown
	case StatusReleased:
		return takeOver
	}

	switch {
	case now.Before(r.LeaseUntil.Add(2 * margin)):
		return refuseInProgress
	case expiredIsUnknown:
		return leaseRanOut
	}

	return takeOver
}
