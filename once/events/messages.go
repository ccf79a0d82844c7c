package events

import (
	"context"
	"errors"
	"time"

	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/queues"
)

// Config of [Messages]. Claims must be set.
type Config struct {
	Claims *once.Claims
	// Key names the work that a message asks for. Default: the queue's name with the
	// sender's deduplication id, or with the message's own ID where there is none.
	Key func(queues.Message) (string, error)
	// Payload is what the work depends on. Default: the body.
	Payload func(queues.Message) []byte
}

// lookAgain is the pause before a message with an unknown outcome is looked at again.
const lookAgain = time.Minute

// codeRejected is the stored failure of a rejected message.
const codeRejected = "Rejected"

// errAgain releases the claim of a message that comes again.
var errAgain = errors.New("the message comes again")

// Messages returns the middleware.
func Messages(cfg Config) (queues.Middleware, error) {
	if cfg.Claims == nil {
		return nil, errors.New("events: Config.Claims is nil")
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

			return cfg.once(ctx, key, m, next)
		}
	}, nil
}

func messageKey(m queues.Message) (string, error) {
	if m.DeduplicationID != "" {
		return keys.Of(m.Queue, "message", m.GroupID, "sender", m.DeduplicationID)
	}
	return keys.Of(m.Queue, "message", m.ID)
}

func (c *Config) once(ctx context.Context, key string, m queues.Message, next queues.Handler) queues.Outcome {
	var mine *queues.Outcome // the handler's, when it ran
	_, _, err := c.Claims.Do(ctx, key, c.Payload(m), func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		out := next(ctx, m)
		mine = &out
		switch out.Kind {
		case queues.KindDone:
			return nil, nil
		case queues.KindReject:
			return nil, once.Fail(codeRejected, out.Err)
		}

		return nil, errAgain
	})
	var final *once.Failure
	switch {
	case err == nil, errors.Is(err, once.ErrResultUnavailable):
		return queues.Done()
	case mine != nil && (errors.Is(err, errAgain) || errors.As(err, &final)):
		return *mine
	case errors.As(err, &final):
		return queues.Reject(final)
	case errors.Is(err, once.ErrUnknownOutcome):
		return queues.InProgress(lookAgain)
	case errors.Is(err, once.ErrMismatch), errors.Is(err, once.ErrInvalid), errors.Is(err, once.ErrKeyExpired), errors.Is(err, once.ErrCorrupt):
		return queues.Reject(err)
	}

	if until, held := once.RetryAt(err); held {
		return queues.InProgress(max(time.Until(until), 0))
	}

	return queues.Retry(0, err)
}
