package requests

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// Decoded turns a function with a typed request into an operation. Unlike wire.Decoded it
// accepts an empty body and ignores the case of names.
func Decoded[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := wire.DecodeAnyCase(body, in); err != nil {
			return nil, err
		}

		return call(ctx, in)
	}
}

// Texts returns the string members of a request by name, without decoding the rest.
// An absent member is "".
func Texts(body []byte, names ...string) ([]string, error) {
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

// Empty is the answer of operations that return nothing.
var Empty = json.RawMessage("{}")

// Stamp is a time as AWS JSON writes it: seconds since 1970 with milliseconds.
type Stamp int64

// MarshalJSON writes the seconds.
func (s Stamp) MarshalJSON() ([]byte, error) { return appendStamp(nil, int64(s)), nil }

func appendStamp(b []byte, ms int64) []byte {
	b = strconv.AppendInt(b, ms/1000, 10)
	return append(b, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
}

// OptionalStamp returns nil for 0, so that the member is left out.
func OptionalStamp(ms int64) *Stamp {
	if ms == 0 {
		return nil
	}

	s := Stamp(ms)

	return &s
}

// Invalid is a ValidationException.
func Invalid(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}

// InvalidFor is a ValidationException with the member that tells its reason.
func InvalidFor(reason, format string, args ...any) error {
	e := wire.Errorf("ValidationException", format, args...)
	e.Members = map[string]any{"reason": reason}

	return e
}

// MetadataOnly asks for a description without data.
const MetadataOnly = "METADATA_ONLY"

// CheckIncluded fails for a value of includedData that does not exist.
func CheckIncluded(data string) error {
	return wire.OneOf(data, "includedData", "ALL_DATA", MetadataOnly)
}

// ISO writes a time as tasks see it, with milliseconds.
func ISO(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// ErrNoExecution reports that there is no such execution. The caller gets it unchanged if the execution
// was deleted after its name was looked up.
var ErrNoExecution error = wire.Errorf("ExecutionDoesNotExist", "Execution Does Not Exist")
