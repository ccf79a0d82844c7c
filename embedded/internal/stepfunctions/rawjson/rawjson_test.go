package rawjson

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	for _, row := range []struct {
		says, doc, value, want string
		way                    []Step
	}{
		{says: "the root is replaced", doc: `{"a":1}`, value: `2`, want: `2`, way: nil},
		{
			says:  "a member is replaced in place",
			doc:   `{"a":1,"b":2}`,
			value: `[3]`,
			want:  `{"a":[3],"b":2}`,
			way:   []Step{{Name: "a"}},
		},
		{
			says:  "a missing member is added at the end",
			doc:   `{"a":1}`,
			value: `2`,
			want:  `{"a":1,"b":2}`,
			way:   []Step{{Name: "b"}},
		},
		{
			says:  "members are made on the way",
			doc:   `{ }`,
			value: `2`,
			want:  `{ "a":{"b":2}}`,
			way:   []Step{{Name: "a"}, {Name: "b"}},
		},
		{
			says:  "an element is replaced",
			doc:   `{"a":[1,2]}`,
			value: `9`,
			want:  `{"a":[1,9]}`,
			way:   []Step{{Name: "a"}, {Index: 1, IsIndex: true}},
		},
		{
			says:  "past the end is refused",
			doc:   `{"a":[1,2]}`,
			value: `9`,
			want:  ``,
			way:   []Step{{Name: "a"}, {Index: 2, IsIndex: true}},
		},
		{
			says:  "through a number is refused",
			doc:   `{"a":3}`,
			value: `9`,
			want:  ``,
			way:   []Step{{Name: "a"}, {Name: "b"}},
		},
		{
			says:  "of two equal names the last counts",
			doc:   `{"a":1,"a":2}`,
			value: `3`,
			want:  `{"a":1,"a":3}`,
			way:   []Step{{Name: "a"}},
		},
		{
			says:  "an escaped name is found",
			doc:   `{"\u0061":1}`,
			value: `3`,
			want:  `{"\u0061":3}`,
			way:   []Step{{Name: "a"}},
		},
	} {
		got, ok := Set([]byte(row.doc), row.way, []byte(row.value))
		if ok != (row.want != "") || string(got) != row.want {
			t.Errorf("%s: got %s, %v; want %s", row.says, got, ok, row.want)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{a: "1", b: "1.0", want: 0},
		{a: "10", b: "1e1", want: 0},
		{a: "-0", b: "0", want: 0},
		{a: "0.1", b: "0.09", want: 1},
		{a: "-2", b: "1", want: -1},
		{a: "-2", b: "-1", want: -1},
		{a: "9007199254740993", b: "9007199254740992", want: 1},
		{a: "1e400", b: "1e399", want: 1},
		{a: "1e-400", b: "0", want: 1},
		{a: "100", b: "99.5", want: 1},
	} {
		if got := CompareNumbers([]byte(row.a), []byte(row.b)); got != row.want {
			t.Errorf("%s against %s: %d, want %d", row.a, row.b, got, row.want)
		}
	}
}

// Values with one canonical text are the same JSON value, and the same value has one text.
func TestCanonical(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `0`, `-0.0`, `1`, `1.0`, `10e-1`, `-1`, `12`, `1.2`, `"1"`, `"a"`, `"\u0061"`, `"a,b"`, `""`, `[]`, `{}`,
		`[1,2]`, `[1.0,20e-1]`, `[12]`, `["1,2"]`, `[[1],2]`, `{"a":1,"b":[2]}`, `{ "b" : [2.0], "\u0061" : 1 }`, `{"a":1,"b":2}`, `{"a":{"b":1}}`,
		`{"a":1,"a":1}`, `{"a":2,"a":1}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":[2]}`,
	}
	for _, a := range values {
		for _, b := range values {
			same := string(AppendCanonical(nil, []byte(a))) == string(AppendCanonical(nil, []byte(b)))
			if same != Equal([]byte(a), []byte(b)) {
				t.Errorf("%s and %s: one text %v", a, b, same)
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":2}`:                `{"a":1,"b":2}`,
		`{"a":1, "b":2, "\u0061":[3]}`: `{"a":[3],"b":2}`,
		`[1,1]`:                        `[1,1]`,
	} {
		if got := Distinct([]byte(text)); string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int64{
		"12":               12,
		"1.2e1":            12,
		"-0":               0,
		"9007199254740993": 9007199254740993,
		"120e-1":           12,
		"0.0":              0,
	} {
		if got, ok := Int([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}

	for _, text := range []string{"1.5", "1e40", `"1"`, "null", "1e999999999999"} {
		if _, ok := Int([]byte(text)); ok {
			t.Errorf("%s is accepted as a whole number", text)
		}
	}
}

// Valid agrees with encoding/json, and the readers return what encoding/json decodes.
func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00"],"b":null}`,
		`[]`,
		`"\ud800"`,
		`-0`,
		`01`,
		`{"a":}`,
		` tru`,
		"\"\xff\"",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		valid := Valid(text) == nil
		if want := json.Valid(text) && utf8.Valid(text); valid != want {
			t.Fatalf("Valid says %v, encoding/json %v", valid, want)
		}

		if !valid {
			return
		}

		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			return // a number out of float64's range
		}

		if s, ok := want.(string); ok {
			if got, _ := Text(text); got != s {
				t.Fatalf("Text %q, want %q", got, s)
			}
		}

		if !Equal(text, AppendCompact(nil, text)) {
			t.Fatal("compact text is another value")
		}

		if m, ok := want.(map[string]any); ok {
			for name, member := range m {
				raw, ok := Member(text, name)
				var got any
				if err := json.Unmarshal(raw, &got); !ok || err != nil || !reflect.DeepEqual(got, member) {
					t.Fatalf("member %q is %s, want %v", name, raw, member)
				}
			}
		}
	})
}

// Text and encoding/json read what AppendText wrote.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		quoted := AppendText(nil, s)
		var std string
		if err := json.Unmarshal(quoted, &std); err != nil || std != s {
			t.Fatalf("%q reads as %q, %v", quoted, std, err)
		}

		if got, ok := Text(quoted); !ok || got != s {
			t.Fatalf("%q reads as %q", quoted, got)
		}
	})
}
