package dynamodb

import (
	"context"

	"ratchet/embedded/internal/wire"
)

// operation adapts a typed operation to the wire: decode, call, pass refusals on.
func operation[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := wire.Decode(body, in); err != nil {
			return nil, refusal(err)
		}

		out, err := call(ctx, in)
		if err != nil {
			return nil, refusal(err)
		}

		return out, nil
	}
}
