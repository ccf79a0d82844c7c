package once_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
)

func TestPoint14_EqualJSONHasOneFingerprint(t *testing.T) {
	for name, texts := range map[string][2]string{
		"order of members":   {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		"white space":        {`{"a": [1 , 2]}`, "{\"a\":[1,2]}\n"},
		"spelling of 1":      {`[1,1,1]`, `[1.0,1e0,10E-1]`},
		"minus zero":         {`-0`, `0`},
		"escapes":            {`"\u00e9\/\t"`, `"é/\u0009"`},
		"a surrogate pair":   {`"\ud83d\ude00"`, `"😀"`},
		"the largest number": {`9007199254740991`, `9007199254740991.0`},
	} {
		a, errA := once.Canonical([]byte(texts[0]))
		b, errB := once.Canonical([]byte(texts[1]))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s: %s and %s (%v, %v)", name, a, b, errA, errB)
		}
	}

	for name, texts := range map[string][2]string{
		"names that differ in case": {`{"a":1,"A":2}`, `{"a":2,"A":1}`},
		"null and absent":           {`{"a":null}`, `{}`},
		"number and text":           {`1`, `"1"`},
		"order of elements":         {`[1,2]`, `[2,1]`},
		"decimals":                  {`0.1`, `0.2`},
	} {
		a, errA := once.Canonical([]byte(texts[0]))
		b, errB := once.Canonical([]byte(texts[1]))
		if errA != nil || errB != nil || string(a) == string(b) {
			t.Errorf("%s: %s and %s (%v, %v)", name, a, b, errA, errB)
		}
	}

	for name, text := range map[string]string{
		"a name twice": `{"a":1,"a":2}`, "beyond 2^53": `9007199254740993`, "far beyond": `1e400`, "a lone surrogate": `"\ud83d"`,
		"invalid UTF-8": "\"\xff\"", "two values": `1 2`, "none": ``, "cut off": `{"a":`, "as a member": `{"n":-9007199254740993}`,
	} {
		if out, err := once.Canonical([]byte(text)); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

func TestPoint14_PayloadsOfTheOtherSchemeAreRecognizedDuringARollout(t *testing.T) {
	w := newWatchedClaims(t)
	asJSON := w.with(t, func(c *once.Config) { c.PayloadJSON = true })
	const first, same, other = `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1}`
	claim := func(c *once.Claims, key, text string, want error) {
		t.Helper()

		if _, err := c.Claim(t.Context(), key, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%s %s: %v, want %v", key, text, err, want)
		}
	}
	claim(w.Claims, "exact", first, nil)
	claim(asJSON, "exact", first, once.ErrInProgress) // recognized by its stored scheme
	claim(asJSON, "exact", other, once.ErrMismatch)
	claim(asJSON, "json", first, nil)
	claim(asJSON, "json", same, once.ErrInProgress)
	claim(w.Claims, "json", first, once.ErrInProgress)
	claim(w.Claims, "json", other, once.ErrMismatch)
	claim(asJSON, "bad", "{", once.ErrInvalid)
}

// A fingerprint that this version cannot compare counts as another payload: nothing is
// replayed and nothing taken over on a guess.
func TestAFingerprintThatCannotBeComparedIsAnother(t *testing.T) {
	for about, stored := range map[string]types.AttributeValue{
		"none":           nil,
		"later version":  dynamo.B(append([]byte{9}, make([]byte, 32)...)),
		"of JSON values": dynamo.B(append([]byte{2}, make([]byte, 32)...)), // the payload here is no JSON
	} {
		for _, state := range []string{"completed", "left", "released"} {
			w := newWatchedClaims(t)
			states[state](t, w)
			w.change(t, "k", item{"payloadHash": stored})

			if err := operations["claim"](t.Context(), w, t); !errors.Is(err, once.ErrMismatch) {
				t.Errorf("%s, %s: %v", about, state, err)
			}
		}
	}
}
