package events

import (
	"context"
	"errors"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/queues"
)

// Config is the configuration of [Messages]. Claims must be set.
type Config struct {
	Claims *once.Claims
	// Key names the work that a message asks for. Default: the queue's name with the
	// sender's deduplication ID, or with the message's own ID if there is none.
	Key func(queues.Message) (string, error)
	// Payload returns the part of a message that the work depends on. If two messages have the same
	// key and different payloads, the second one is rejected. Default: the body.
	Payload func(queues.Message) []byte
}

// unknownVisibility is how long a message with an unknown outcome stays hidden.
const unknownVisibility = time.Minute

// codeRejected is the stored failure of a rejected message.
const codeRejected = "Rejected"

// errRedelivered ends the claim of a message that will be delivered again.
var errRedelivered = errors.New("the message will be delivered again")

// Messages checks cfg and returns the middleware.
func Messages(cfg Config) (queues.Middleware, error) {
	if cfg.Claims == nil {
		return nil, errors.New("events: Config.Claims: must be set")
	}

	if cfg.Key == nil {
		cfg.Key = messageKey
	}

	if cfg.Payload == nil {
		cfg.Payload = func(m queues.Message) []byte { return []byte(m.Body) }
	}

	return func(next queues.Handler) queues.Handler {
		return func(ctx context.Context, m queues.Message) queues.Outcome {
			key, err := cfg.Key(m)
			if err != nil {
				return queues.Reject(err)
			}

			return cfg.handleOnce(ctx, key, m, next)
		}
	}, nil
}

// messageKey is the default of Config.Key.
func messageKey(m queues.Message) (string, error) {
	if m.DeduplicationID != "" {
		return keys.Of(m.Queue, "message", m.GroupID, "sender", m.DeduplicationID)
	}
	// Without "sender", so that this key differs from the key of a deduplication ID with the same
	// text.
	return keys.Of(m.Queue, "message", m.ID)
}

// handleOnce handles the message under a claim of the key.
func (c *Config) handleOnce(ctx context.Context, key string, m queues.Message, next queues.Handler) queues.Outcome {
	var own *queues.Outcome // the handler's answer; nil if this call did not run it
	_, _, err := c.Claims.Do(ctx, key, c.Payload(m), func(ctx context.Context, claim *once.Claim) ([]byte, error) {
		out := next(withClaim(ctx, claim), m)
		own = &out

		// Do stores a nil error and a Failure. Every other error leaves the work to the next delivery. Of
		// the handler's error only the marks count that say what is known of the effect.
		switch {
		case out.Kind == queues.KindDone:
			return nil, nil
		case out.Kind == queues.KindReject:
			return nil, once.Fail(codeRejected, out.Err)
		case once.IsNotBegun(out.Err):
			return nil, once.NotBegun(errRedelivered)
		case errors.Is(out.Err, once.ErrAmbiguous):
			return nil, errors.Join(errRedelivered, once.ErrAmbiguous)
		}

		return nil, errRedelivered
	})

	var final *once.Failure
	switch {
	// The work is done. Its stored result may be unreadable, but a message needs no result.
	case err == nil, errors.Is(err, once.ErrResultUnavailable):
		return queues.Done()
	// This call has run the handler. Its answer counts, with its wait and error, also if the claim could not
	// be ended: another delivery would repeat what was done.
	case own != nil:
		return *own
	case errors.As(err, &final):
		return queues.Reject(final)
	case errors.Is(err, once.ErrUnknownOutcome):
		return queues.InProgress(unknownVisibility)
	// Every later delivery of the same message would end with the same error.
	case errors.Is(err, once.ErrMismatch), errors.Is(err, once.ErrInvalid),
		errors.Is(err, once.ErrKeyExpired), errors.Is(err, once.ErrCorrupt):
		return queues.Reject(err)
	}

	if until, inProgress := once.RetryAt(err); inProgress {
		return queues.InProgress(max(time.Until(until), 0))
	}

	if isOutage(ctx, err) {
		return queues.NotYet(0, err)
	}

	return queues.Retry(0, err)
}

// isOutage reports whether the claim failed for a reason outside the message.
func isOutage(ctx context.Context, err error) bool {
	return errors.Is(err, once.ErrUnanswered) || dynamo.Retryable(err) || dynamo.OutcomeUnknown(ctx, err)
}
