package ids_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/internal/ids"
)

func TestEncode(t *testing.T) {
	for _, row := range []struct{ why, id, want string }{
		{"the ids of the first form are their own encoding", "Ab_9.x:y-z", "Ab_9.x:y-z"},
		{"a slash separates the parts of a key", "a/b", "a%2Fb"},
		{"the escape itself", "a%2Fb", "a%252Fb"},
		{"this directory", ".", "%2E"},
		{"the directory above", "..", "%2E%2E"},
		{"three dots are a name like any other", "...", "..."},
		{"bytes of UTF-8, with capital digits", "é #~", "%C3%A9%20%23%7E"},
	} {
		if got := ids.Encode(row.id); got != row.want {
			t.Errorf("%s: Encode(%q) = %q, want %q", row.why, row.id, got, row.want)
		}
	}
}

func TestDecodeRefusesOtherTexts(t *testing.T) {
	for _, text := range []string{".", "..", "a/b", "a%2fb", "a%2", "%", "%41", "a b", "é", "%GG"} {
		if id, ok := ids.Decode(text); ok {
			t.Errorf("Decode(%q) = %q: it is no encoding", text, id)
		}
	}
}

func TestValid(t *testing.T) {
	for id, want := range map[string]bool{
		"":                             false,
		"o-1":                          true,
		"A/1 #é~%":                     true,
		"..":                           true,
		"a\nb":                         false,
		"a\u0085b":                     false,
		"\xff":                         false,
		strings.Repeat("x", 256):       true,
		strings.Repeat("x", 257):       false,
		strings.Repeat("é", 128):       true,
		strings.Repeat("é", 129):       false,
		"/" + strings.Repeat("x", 256): false,
	} {
		if got := ids.Valid(id); got != want {
			t.Errorf("Valid(%q) = %t", id, got)
		}
	}
}

// odd are the characters with which ids collide if one of them is not encoded.
const odd = "ab01./%#~:|-_ \\\"'é\u2028?&=+2F"

func anID() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(odd)), 1, 12, 256),
		rapid.StringN(1, 40, 256),
	).Filter(ids.Valid)
}

// Two ids never share a name: not an encoding, not a key, not a file, and not one that was cut to a bound.
func TestNoTwoIDsShareAName(t *testing.T) {
	names := map[string]func(id string) string{
		"encoding": ids.Encode,
		"key":      func(id string) string { return ids.Encode(id) + "/0000000000001/2/shipping" },
		"file":     func(id string) string { return strings.ReplaceAll(ids.Encode(id)+"/1/2/notify", "/", "~") },
		"life":     func(id string) string { return ids.Encode(id) + ".0000000000001" },
		"group":    func(id string) string { return ids.Fit(ids.Encode(id), 65) },
	}

	rapid.Check(t, func(t *rapid.T) {
		a, b := anID().Draw(t, "a"), anID().Draw(t, "b")
		for what, name := range names {
			if (name(a) == name(b)) != (a == b) {
				t.Fatalf("%s: %q and %q have the names %q and %q", what, a, b, name(a), name(b))
			}
		}
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, rest := anID().Draw(t, "id"), rapid.String().Draw(t, "rest")

		text := ids.Encode(id)
		if got, ok := ids.Decode(text); !ok || got != id {
			t.Fatalf("Decode(%q) = %q, %t, want %q", text, got, ok, id)
		}

		if strings.ContainsAny(text, "/#~| \\\"'") || text == "." || text == ".." {
			t.Fatalf("Encode(%q) = %q has a character that separates names", id, text)
		}

		if got, behind, ok := ids.Cut(text + "/" + rest); !ok || got != id || behind != rest {
			t.Fatalf("Cut(%q) = %q, %q, %t", text+"/"+rest, got, behind, ok)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"o-1", "a%2Fb", "%", "%2E%2E", "..", "%C3%A9", "\xff", "%FF"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := ids.Decode(text); ok && ids.Encode(id) != text {
			t.Errorf("Decode(%q) = %q, whose encoding is %q", text, id, ids.Encode(id))
		}

		if id, ok := ids.Decode(ids.Encode(text)); !ok || id != text {
			t.Errorf("Decode(Encode(%q)) = %q, %t", text, id, ok)
		}
	})
}
