package actions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/internal/dynamo"
)

// Errors. An outcome is not an error; see [Result].
var (
	// ErrInvalid means that an argument breaks a rule. The text names both.
	ErrInvalid = errors.New("invalid action")
	// ErrConflict means that the request id, the code or the batch was used for an action
	// with other content. It is a bug of the caller.
	ErrConflict = errors.New("used before for an action with other content")
	// ErrNoKey means that the key that the call needs is not configured. Nothing was
	// written.
	ErrNoKey = errors.New("the key of the action is not configured")
	// ErrUnavailable means that DynamoDB did not answer, or not in time. The write may have
	// been made. The same call with the same id finds out.
	ErrUnavailable = errors.New("the store of actions did not answer")

	errUnreadable = errors.New("the stored action cannot be read")
	// errAgain means that a write was decided by a clock that its answer has corrected.
	errAgain = errors.New("this machine's clock was wrong")
)

func invalid(rule string) error { return fmt.Errorf("%w: %s", ErrInvalid, rule) }

// failed adds the verb and the action to the error.
func failed(verb string, id ID, err error) error {
	return fmt.Errorf("%s %s: %w", verb, id.digest(), err)
}

// unavailable marks an error that a retry may overcome: a time-out, a lost answer,
// throttling, a fault of the service. The call has been repeated by then. A write without an
// answer is marked, whatever came after it.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(err, dynamo.ErrUnanswered) || dynamo.Retryable(err) || dynamo.OutcomeUnknown(ctx, err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	return err
}
