package stepfunctions

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// decoded turns a function with a typed request into an operation. Unlike wire.Decoded it
// accepts an empty body and ignores the case of names.
func decoded[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := wire.DecodeAnyCase(body, in); err != nil {
			return nil, err
		}

		return call(ctx, in)
	}
}

// textMembers returns the string members of a request by name, without decoding the rest.
// An absent member is "".
func textMembers(body []byte, names ...string) ([]string, error) {
	texts := make([]string, len(names))
	if len(body) == 0 {
		return texts, nil
	}

	if err := rawjson.Valid(body); err != nil || rawjson.KindOf(body) != rawjson.Object {
		return nil, wire.Malformed("")
	}

	for c := rawjson.Walk(body); c.Next(); {
		// A member that is null counts as absent.
		for i, name := range names {
			if !c.Is(name) || rawjson.KindOf(c.Value) == rawjson.Null {
				continue
			}

			text, ok := rawjson.Text(c.Value)
			if !ok {
				return nil, notText(body, name)
			}

			texts[i] = text
		}
	}

	return texts, nil
}

// notText returns the error for a member that must be a text and is not.
func notText(body []byte, name string) error {
	// The decoder of the other operations has the words. It reads a request with this one member.
	request := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Member", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(`json:"` + name + `"`),
	}}))

	return wire.DecodeAnyCase(body, request.Interface())
}

// empty is the answer of operations that return nothing.
var empty = json.RawMessage("{}")

// stamp is a time as AWS JSON writes it: seconds since 1970 with milliseconds.
type stamp int64

// MarshalJSON writes the seconds.
func (s stamp) MarshalJSON() ([]byte, error) { return appendStamp(nil, int64(s)), nil }

func appendStamp(b []byte, ms int64) []byte {
	b = strconv.AppendInt(b, ms/1000, 10)
	return append(b, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
}

// optionalStamp returns nil for 0, so that the member is left out.
func optionalStamp(ms int64) *stamp {
	if ms == 0 {
		return nil
	}

	s := stamp(ms)

	return &s
}

func validation(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}
