package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/once/txn"
	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

// schedule places a request for later. Its verdict comes at its time, when the message is long done.
func (h *Handler) schedule(ctx context.Context, m queues.Message, r transitions.Request, at time.Time) queues.Outcome {
	if h.cfg.Scheduled == nil {
		return queues.Reject(fmt.Errorf("%w: at: this worker keeps no requests for later", ErrMalformed))
	}

	_, err := h.cfg.Scheduled.Place(ctx, r, at)
	switch {
	case err == nil:
		return queues.Done()
	case isFinal(err):
		return queues.Reject(err)
	case transitions.Retryable(err), txn.Retryable(err):
		return queues.NotYet(pauseAfterOutage(m), err)
	}

	return queues.Retry(0, err)
}

// isFinal reports whether a request for later can never be placed. An order that is not there may still be placed.
func isFinal(err error) bool {
	for _, refusal := range []error{transitions.ErrInvalidRequest, scheduled.ErrTime, scheduled.ErrFull, scheduled.ErrConflict, scheduled.ErrAnotherLife} {
		if errors.Is(err, refusal) {
			return true
		}
	}

	return false
}
