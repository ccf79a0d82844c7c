package api

import (
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/api/internal/input"
)

// FuzzBodies checks that a body that passes checkJSON is one JSON value that the strict
// decoder accepts, without null outside of the member that may be any JSON.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"a":2}`, `{"a":null}`, `{"free":[null]}`, "[1] 2", `{"a":"\ud800"}`, strings.Repeat("[", 70) + strings.Repeat("]", 70), "\xff", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if checkJSON(body, "/free") != nil || len(body) == 0 {
			return
		}

		var v any
		if err := json.Unmarshal(body, &v); err != nil && len(strings.TrimSpace(string(body))) > 0 && !strings.Contains(err.Error(), "out of range") {
			t.Fatalf("%q passes, but does not decode: %v", body, err)
		}

		if value := jsontext.Value(body); value.Kind() == '{' {
			var members map[string]any
			if json.Unmarshal(body, &members) == nil {
				for name, member := range members {
					if member == nil && name != "free" {
						t.Fatalf("%q passes with null", body)
					}
				}
			}
		}
	})
}

// FuzzIntegers checks that an integer is read exactly as it is written.
func FuzzIntegers(f *testing.F) {
	for _, seed := range []string{"1", "-0", "1.0", "1e3", "1.5", "9223372036854775807", "9007199254740993.0", "1e-999999999", "0e999999999", "12345678901234567890123456789012345678901"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if value := jsontext.Value(text); !value.IsValid() || value.Kind() != '0' {
			return // the decoder lets only numbers through
		}

		n, ok := parseInteger(text)
		if !ok || len(text) > 40 {
			return
		}

		if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found && len(strings.Trim(exponent, "+-0")) > 3 {
			if n != 0 {
				t.Fatalf("%s is read as %d", text, n)
			}
			return // too large for the comparison below
		}

		exact, ok := new(big.Rat).SetString(text)
		if !ok || exact.Cmp(new(big.Rat).SetInt64(n)) != 0 {
			t.Fatalf("%s is read as %d", text, n)
		}
	})
}

// FuzzCursors checks that no cursor can be made up.
func FuzzCursors(f *testing.F) {
	s, err := newSealer(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.seal("acme:o-1", "orders", "acme", ""))
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		if place, p := s.open(cursor, "orders", "other", ""); p == nil && place != "" {
			t.Fatalf("%q opens as %q", cursor, place)
		}
	})
}

// FuzzTags checks that only ETags in the form of this API are read.
func FuzzTags(f *testing.F) {
	f.Add(`"t1.c0"`)
	f.Add(`"t1.c0.0123456789abc"`)
	f.Add(`W/"t1.c0"`)
	f.Fuzz(func(t *testing.T, text string) {
		seen, conditional := input.Conditional{IfMatch: text}.Seen()
		if conditional && (seen.TransitionID < 0 || seen.ContentVersion < 0 || !strings.HasPrefix(text, `"t`)) {
			t.Fatalf("%q is read as %+v", text, seen)
		}
	})
}
