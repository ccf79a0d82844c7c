package once

import (
	"time"
)

// decision is what a claim makes of the record under its key.
type decision int

const (
	claimFree decision = iota // there is none: claim
	ours                      // this very call, or one of the same name, had claimed it; the answer was lost
	takeOver                  // claim it from who had it
	suspect                   // its lease ran out, and the operation takes that for an unknown outcome
	replay
	replayFailure
	refuseMismatch
	refuseUnknown
	refuseHeld
)

// decide follows a fixed order: an expired record is absent, another payload is
// refused whatever the status, and only then the status counts. It is pure.
func (a *attempt) decide(r *Record, now time.Time, margin time.Duration, expiredIsUnknown bool) decision {
	switch {
	case r == nil:
		return claimFree
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
		return refuseHeld
	case expiredIsUnknown:
		return suspect
	}

	return takeOver
}
