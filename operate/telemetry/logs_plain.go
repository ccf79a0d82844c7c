package telemetry

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// plain returns an attribute of a line as it is exported: with the value that the JSON log shows,
// so that a value that its type hides there is not exported either. The bridge would write a struct
// with all its fields, and an error under another name. An attribute without a value is left out.
func plain(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()

	switch value.Kind() {
	case slog.KindGroup:
		members := value.Group()
		inner := make([]slog.Attr, len(members))
		for i, member := range members {
			inner[i] = plain(member)
		}

		return slog.Attr{Key: a.Key, Value: slog.GroupValue(inner...)}
	case slog.KindTime:
		// The bridge would export the nanoseconds as a number.
		return slog.String(a.Key, value.Time().Format(time.RFC3339Nano))
	case slog.KindAny:
		return plainAny(a.Key, value.Any())
	}

	return slog.Attr{Key: a.Key, Value: value}
}

// plainAny is plain for a value of any type. As in the handlers of slog, a method of the value that
// panics breaks no line; the usual cause is a nil pointer.
func plainAny(key string, value any) (out slog.Attr) {
	defer func() {
		// slog's handlers show a nil pointer as <nil>, and other panics with their text.
		failure := recover()
		if failure == nil {
			return
		}

		if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
			out = slog.String(key, "<nil>")
		} else {
			out = slog.String(key, fmt.Sprintf("!PANIC: %v", failure))
		}
	}()

	switch v := value.(type) {
	case nil:
		// slog leaves out an attribute without a key and a value.
		return slog.Attr{}
	// Checked before error: the JSON handler also prefers the method, which may hide secrets.
	case json.Marshaler:
	case error:
		return slog.String(key, v.Error())
	case encoding.TextMarshaler:
		if text, err := v.MarshalText(); err == nil {
			return slog.String(key, string(text))
		}
	}

	text, err := json.Marshal(value)
	if err != nil {
		return slog.String(key, fmt.Sprintf("!ERROR:%v", err))
	}

	// A JSON string is exported as its text: many ids are types of their own with the kind string.
	var s string
	if json.Unmarshal(text, &s) == nil {
		return slog.String(key, s)
	}

	// A whole number stays one, so that the receiver can compare it.
	var n int64
	if json.Unmarshal(text, &n) == nil {
		return slog.Int64(key, n)
	}

	return slog.String(key, string(text))
}
