package events

import (
	"context"

	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/queues"
)

// Failures returns a counter of the failed receives of messages for queues.Config and
// queues.LambdaConfig. It counts in the table of the claims, so the attempts of a message
// hold across restarts and for all consumers together. A failure costs one write. The
// claims' retention must exceed the retention of the queue, which is at most 14 days.
func Failures(claims *once.Claims) queues.FailureCounter { return failures{claims} }

type failures struct{ claims *once.Claims }

func (f failures) CountFailure(ctx context.Context, message, receive string) (int, error) {
	key, err := keys.Of("queues", "failures", message)
	if err != nil {
		return 0, err
	}

	return f.claims.Count(ctx, key, receive)
}
