package dynamodb

import (
	"context"
	"strconv"

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

// oneOf checks an optional enumeration member; empty is allowed.
func oneOf(value, parameter string, allowed ...string) error {
	if value == "" {
		return nil
	}
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return badEnum(value, parameter, allowed...)
}

// within checks an optional number against its bounds.
func within(value *int64, parameter string, lo, hi int64) error {
	switch {
	case value == nil:
		return nil
	case *value < lo:
		return badParameter(quoteInt(*value), parameter, "Member must have value greater than or equal to "+strconv.FormatInt(lo, 10))
	case *value > hi:
		return badParameter(quoteInt(*value), parameter, "Member must have value less than or equal to "+strconv.FormatInt(hi, 10))
	}
	return nil
}

func quoteInt(n int64) string { return "'" + strconv.FormatInt(n, 10) + "'" }
