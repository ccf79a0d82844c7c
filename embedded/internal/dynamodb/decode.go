package dynamodb

import (
	"context"

	"ratchet/embedded/internal/wire"
)

// operation adapts a typed operation to the wire: it decodes the request, calls, and
// translates the errors of the packages below.
func operation[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := wire.Decode(body, in); err != nil {
			return nil, err
		}

		out, err := call(ctx, in)
		if err != nil {
			return nil, asWireError(err)
		}

		return out, nil
	}
}
