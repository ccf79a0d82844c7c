package events

import (
	"context"
	"encoding/json"
	"errors"

	"ratchet/once"
)

// Func is a Lambda function, JSON in and JSON out. It fits lambda.Start.
type Func func(ctx context.Context, event json.RawMessage) (json.RawMessage, error)

// FunctionConfig is the configuration of [Function]. Both fields must be set.
type FunctionConfig struct {
	Claims *once.Claims
	// Key names the work that an event asks for.
	Key func(event json.RawMessage) (string, error)
}

// Function returns a function that calls fn once for each key: if the key's work was finished
// before, it returns the stored result. The lease of the claim ends at the function's deadline at
// the latest, so that the work of a killed invocation can be taken over soon.
func Function(cfg FunctionConfig, fn Func) (Func, error) {
	var faults []error
	if cfg.Claims == nil {
		faults = append(faults, errors.New("events: FunctionConfig.Claims: must be set"))
	}

	if cfg.Key == nil {
		faults = append(faults, errors.New("events: FunctionConfig.Key: must be set"))
	}

	if fn == nil {
		faults = append(faults, errors.New("events: the function must be set"))
	}

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		key, err := cfg.Key(event)
		if err != nil {
			return nil, err
		}

		// The event is also the payload: a repeat of the key with another event is a mismatch.
		result, _, err := cfg.Claims.Do(ctx, key, event, func(ctx context.Context, claim *once.Claim) ([]byte, error) {
			return fn(withClaim(ctx, claim), event)
		})

		return result, err
	}, nil
}
