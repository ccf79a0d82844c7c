package actions

import (
	"context"

	"ratchet/internal/dynamo"
)

// learn asks for the service's time if no answer has stated it so far. It comes before a write that
// compares the end of an action.
func (a *Actions) learn(ctx context.Context) error {
	return unavailable(ctx, a.clock.LearnFrom(ctx, a.cfg.DynamoDB.GetItem, a.cfg.Table, image{keyAttribute: dynamo.S("clock")}))
}

// writeAttempts is how often a write is sent until DynamoDB has decided.
const writeAttempts = 8
