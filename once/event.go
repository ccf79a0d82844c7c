package once

import (
	"errors"
	"fmt"

	"ratchet/txn"
)

// Outcome is what a claim, or a step of one, met. There are no others, so that it
// can be a metric's label.
type Outcome string

// The first group answers a claim, the second a step of its holder.
const (
	Acquired        Outcome = "acquired"
	TakenOver       Outcome = "taken_over"
	Replayed        Outcome = "replayed"
	ReplayedFailure Outcome = "replayed_failure"
	ResultLost      Outcome = "result_unavailable"
	InProgress      Outcome = "in_progress"
	Mismatch        Outcome = "mismatch"
	UnknownOutcome  Outcome = "unknown"
	KeyExpired      Outcome = "key_expired"
	ClockSkew       Outcome = "clock_skew"
	Untracked       Outcome = "untracked"

	Extended     Outcome = "extended"
	Finished     Outcome = "completed"
	FailedFinal  Outcome = "failed"
	LeftUnknown  Outcome = "left_unknown"
	GivenBack    Outcome = "released"
	Resolved     Outcome = "resolved"
	StaleOwner   Outcome = "stale_owner"
	LeaseExpired Outcome = "lease_expired"

	Refused     Outcome = "refused"
	Invalid     Outcome = "invalid"
	Unavailable Outcome = "unavailable"
)

// Event is one outcome. Operation, Verb and Outcome have few values; Ref abbreviates
// the key, for logs and traces.
type Event struct {
	Operation string
	Verb      string
	Outcome   Outcome
	Ref       string
	Err       error
}

// outcomes pairs errors with what they are counted as. The first match counts.
var outcomes = []struct {
	is      error
	outcome Outcome
}{
	{ErrInProgress, InProgress}, {ErrMismatch, Mismatch}, {ErrUnknownOutcome, UnknownOutcome}, {ErrKeyExpired, KeyExpired},
	{ErrClockSkew, ClockSkew}, {ErrStaleOwner, StaleOwner}, {ErrLeaseExpired, LeaseExpired},
	{ErrResultUnavailable, ResultLost}, {ErrInvalid, Invalid}, {ErrEnded, Invalid}, {ErrCorrupt, Invalid},
}

func outcomeOf(err error) Outcome {
	for _, o := range outcomes {
		if errors.Is(err, o.is) {
			return o.outcome
		}
	}

	var (
		failure *Failure
		item    *RefusedError
		part    *txn.Refused
	)
	switch {
	case errors.As(err, &failure):
		return ReplayedFailure
	case errors.As(err, &item), errors.As(err, &part):
		return Refused
	}

	return Unavailable
}

// tell reports what a verb met and names verb and key in the error.
func (c *Claims) tell(verb, key string, success Outcome, err error) error {
	if err == nil && c.cfg.Observe == nil {
		return nil
	}

	e := Event{Operation: c.cfg.Operation, Verb: verb, Outcome: success, Ref: c.Ref(key)}
	if err != nil {
		e.Outcome = outcomeOf(err)
		err = fmt.Errorf("%s key#%s: %w", verb, e.Ref, err)
		e.Err = err
	}

	if c.cfg.Observe != nil {
		c.cfg.Observe(e)
	}

	return err
}
