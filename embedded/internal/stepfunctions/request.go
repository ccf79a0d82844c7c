package stepfunctions

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// decoded makes an operation of a function that takes its request decoded.
func decoded[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if len(body) > 0 {
			if err := json.Unmarshal(body, in); err != nil {
				return nil, wire.Errorf("SerializationException", "the request is not what the operation takes: %v", err)
			}
		}

		return call(ctx, in)
	}
}

// members reads texts from a request without decoding the rest. An absent
// member is "".
func members(body []byte, names ...string) ([]string, error) {
	texts := make([]string, len(names))
	if len(body) == 0 {
		return texts, nil
	}

	if err := rawjson.Valid(body); err != nil || rawjson.KindOf(body) != rawjson.Object {
		return nil, wire.Errorf("SerializationException", "the request is not a JSON object: %v", err)
	}

	for c := rawjson.Walk(body); c.Next(); {
		for i, name := range names {
			if !c.Is(name) || rawjson.KindOf(c.Value) == rawjson.Null {
				continue
			}

			text, ok := rawjson.Text(c.Value)
			if !ok {
				return nil, wire.Errorf("SerializationException", "%s must be a string", name)
			}
			texts[i] = text
		}
	}

	return texts, nil
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

// optional is nil for a time that never was, so that it is left out.
func optional(ms int64) *stamp {
	if ms == 0 {
		return nil
	}
	s := stamp(ms)

	return &s
}

func validation(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}

// pageSize checks maxResults: 0 means the default.
func pageSize(n int) (int, error) {
	const standard, most = 100, 1000
	switch {
	case n == 0:
		return standard, nil
	case n < 0 || n > most:
		return 0, validation("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
			"Member must be from 0 to %d", n, most)
	}

	return n, nil
}

// pageToken encodes where the next page starts, bound to what is listed.
func pageToken(kind byte, scope, at uint64) *string {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{kind}, scope), at)
	text := base64.RawURLEncoding.EncodeToString(b)
	return &text
}

func readPageToken(token string, kind byte, scope uint64) (uint64, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != 17 || b[0] != kind || binary.BigEndian.Uint64(b[1:]) != scope {
		return 0, wire.Errorf("InvalidToken", "Invalid Token: 'Invalid token'")
	}

	return binary.BigEndian.Uint64(b[9:]), nil
}
