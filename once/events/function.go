package events

import (
	"context"
	"encoding/json"
	"errors"

	"ratchet/once"
)

// Func is a Lambda function, JSON in and JSON out. It fits lambda.Start.
type Func func(ctx context.Context, event json.RawMessage) (json.RawMessage, error)

// Function returns fn, done once per key: an invocation whose key was finished before
// returns the stored result. The function's own deadline bounds the claim's lease, so
// that one which is killed is taken over soon after.
func Function(claims *once.Claims, key func(event json.RawMessage) (string, error), fn Func) (Func, error) {
	if claims == nil || key == nil || fn == nil {
		return nil, errors.New("events: Function needs claims, a key and a function")
	}

	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		k, err := key(event)
		if err != nil {
			return nil, err
		}
		result, _, err := claims.Do(ctx, k, event, func(ctx context.Context, _ *once.Claim) ([]byte, error) { return fn(ctx, event) })

		return result, err
	}, nil
}
