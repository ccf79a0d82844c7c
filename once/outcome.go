package once

import (
	"errors"
	"fmt"

	"ratchet/once/txn"
)

// Outcome says what became of a call. It has few values and can be a metric label.
//
// A claim is acquired, taken_over, replayed, replayed_failure, result_unavailable,
// in_progress, mismatch, unknown, key_expired or untracked.
//
// A step of a claim's holder, or of an operator, is extended, completed, failed,
// left_unknown, released, resolved, stale_owner or lease_expired.
//
// Either may be refused (the condition of the caller's own write failed), invalid (an
// argument, or the item under the key) or unavailable (DynamoDB did not answer).
type Outcome string

// The outcomes of a [Claim].
const (
	// Acquired means that the key was free.
	Acquired Outcome = "acquired"
	// TakenOver means that another caller may have begun the work.
	TakenOver Outcome = "taken_over"
	// Replayed means that the work was done before.
	Replayed Outcome = "replayed"
	// Untracked means that the work runs without a claim; see [Config.FailOpen].
	Untracked Outcome = "untracked"
)

const (
	outcomeReplayedFailure Outcome = "replayed_failure"
	outcomeResultLost      Outcome = "result_unavailable"
	outcomeInProgress      Outcome = "in_progress"
	outcomeMismatch        Outcome = "mismatch"
	outcomeUnknown         Outcome = "unknown"
	outcomeKeyExpired      Outcome = "key_expired"

	outcomeExtended     Outcome = "extended"
	outcomeCompleted    Outcome = "completed"
	outcomeFailed       Outcome = "failed"
	outcomeLeftUnknown  Outcome = "left_unknown"
	outcomeReleased     Outcome = "released"
	outcomeResolved     Outcome = "resolved"
	outcomeStaleOwner   Outcome = "stale_owner"
	outcomeLeaseExpired Outcome = "lease_expired"

	outcomeRefused     Outcome = "refused"
	outcomeInvalid     Outcome = "invalid"
	outcomeUnavailable Outcome = "unavailable"
)

// Event is the outcome of one call. Operation, Verb and Outcome have few values. Ref stands
// for the key in logs and traces; see [Claims.Ref].
type Event struct {
	Operation string
	Verb      string
	Outcome   Outcome
	Ref       string
	Err       error
}

// errorOutcomes pairs errors with their outcomes. The first match counts.
var errorOutcomes = []struct {
	err     error
	outcome Outcome
}{
	{ErrInProgress, outcomeInProgress},
	{ErrMismatch, outcomeMismatch},
	{ErrUnknownOutcome, outcomeUnknown},
	{ErrKeyExpired, outcomeKeyExpired},
	{ErrStaleOwner, outcomeStaleOwner},
	{ErrLeaseExpired, outcomeLeaseExpired},
	{ErrResultUnavailable, outcomeResultLost},
	{ErrInvalid, outcomeInvalid},
	{ErrEnded, outcomeInvalid},
	{ErrCorrupt, outcomeInvalid},
}

func outcomeOf(err error) Outcome {
	for _, o := range errorOutcomes {
		if errors.Is(err, o.err) {
			return o.outcome
		}
	}

	var (
		failure *Failure
		item    *RefusedError
		part    *txn.CanceledError
	)
	switch {
	case errors.As(err, &failure):
		return outcomeReplayedFailure
	case errors.As(err, &item), errors.As(err, &part):
		return outcomeRefused
	}

	return outcomeUnavailable
}

// observe reports the outcome of a call: success, or the outcome of the error. It returns
// the error with the verb and the key's digest.
func (c *Claims) observe(verb, key string, success Outcome, err error) error {
	// The digest of the key is only for events and errors.
	if err == nil && c.cfg.Events.Observed == nil {
		return nil
	}

	event := Event{Operation: c.cfg.Operation, Verb: verb, Outcome: success, Ref: c.Ref(key)}
	if err != nil {
		event.Outcome = outcomeOf(err)
		err = fmt.Errorf("%s key#%s: %w", verb, event.Ref, err)
		event.Err = err
	}

	if c.cfg.Events.Observed != nil {
		c.cfg.Events.Observed(event)
	}

	return err
}
