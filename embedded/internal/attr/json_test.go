package attr

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestDecodeValue(t *testing.T) {
	nested := func(lists int) string {
		return strings.Repeat(`{"L":[`, lists) + `{"S":"x"}` + strings.Repeat(`]}`, lists)
	}
	for _, tt := range []struct {
		name, in string
		want     Value
		invalid  string // ValidationError
		broken   string // serializationError
	}{
		{name: "a string", in: `{"S":"é\n\"x\""}`, want: Value{Kind: S, Str: "é\n\"x\""}},
		{name: "an empty string is data", in: `{"S":""}`, want: Value{Kind: S}},
		{name: "a number is put into canonical form", in: `{"N":"+01.50e1"}`, want: Value{Kind: N, Str: "15"}},
		{name: "binary is kept raw", in: `{"B":"YQA="}`, want: Value{Kind: B, Str: "a\x00"}},
		{name: "a boolean", in: `{"BOOL":false}`, want: Value{Kind: BOOL}},
		{name: "a boolean may be a word", in: `{"BOOL":"yes"}`, want: Value{Kind: BOOL, Bool: true}},
		{name: "null", in: `{"NULL":true}`, want: Value{Kind: NULL, Bool: true}},
		{
			name: "a map",
			in:   `{"M":{"a":{"N":"1"},"b":{"M":{}}}}`,
			want: Value{Kind: M, Map: Item{"a": {Kind: N, Str: "1"}, "b": {Kind: M, Map: Item{}}}},
		},
		{
			name: "a list",
			in:   `{"L":[{"N":"1"},{"L":[]}]}`,
			want: NewList([]Value{{Kind: N, Str: "1"}, NewList([]Value{})}),
		},
		{name: "string sets are sorted", in: `{"SS":["b","a"]}`, want: NewSortedSet(SS, []string{"a", "b"})},
		{
			name: "number sets are sorted by value",
			in:   `{"NS":["10","-1","2.0"]}`,
			want: NewSortedSet(NS, []string{"-1", "2", "10"}),
		},
		{
			name: "binary sets are sorted by bytes",
			in:   `{"BS":["/w==","YQ=="]}`,
			want: NewSortedSet(BS, []string{"a", "\xff"}),
		},
		{
			name: "null and unknown members do not count",
			in:   `{"S":null,"Z":{"q":[1]},"N":"1"}`,
			want: Value{Kind: N, Str: "1"},
		},
		{name: "an escaped descriptor", in: `{"\u0053":"x"}`, want: Value{Kind: S, Str: "x"}},
		{name: "31 lists around a string are the deepest", in: nested(31), want: deep(31)},

		{name: "no member", in: `{}`, invalid: msgEmpty},
		{name: "only null members", in: `{"S":null}`, invalid: msgEmpty},
		{name: "null for a value", in: `null`, invalid: msgEmpty},
		{name: "two members", in: `{"S":"a","N":"1"}`, invalid: msgMany},
		{name: "no number", in: `{"N":"abc"}`, invalid: "The parameter cannot be converted to a numeric value: abc"},
		{name: "an empty number", in: `{"N":""}`, invalid: "The parameter cannot be converted to a numeric value"},
		{name: "a null that is false", in: `{"NULL":false}`, invalid: msgNullTrue},
		{name: "an empty string set", in: `{"SS":[]}`, invalid: msgEmptySS},
		{name: "an empty number set", in: `{"NS":[]}`, invalid: msgEmptyNS},
		{name: "an empty binary set", in: `{"BS":[]}`, invalid: msgEmptyBS},
		{
			name:    "equal strings in a set",
			in:      `{"SS":["b","a","b"]}`,
			invalid: "One or more parameter values were invalid: Input collection [b, a, b] contains duplicates.",
		},
		{name: "equal numbers in a set", in: `{"NS":["1","1.0"]}`, invalid: "Input collection contains duplicates"},
		{
			name:    "equal binaries in a set",
			in:      `{"BS":["YQ==","YQ=="]}`,
			invalid: "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type BS contains duplicates.",
		},
		{
			name:    "a fault deep inside comes up",
			in:      `{"L":[{"M":{"a":{"N":"z"}}}]}`,
			invalid: "The parameter cannot be converted to a numeric value: z",
		},
		{
			name:    "the first of several faults in a list",
			in:      `{"L":[{"N":"z"},{"SS":[]},{"N":"y"}]}`,
			invalid: "The parameter cannot be converted to a numeric value: z",
		},
		{name: "a member without a name", in: `{"M":{"":{"S":"x"}}}`, invalid: msgEmptyName},
		{
			name:    "a fault in a member comes before too many members",
			in:      `{"S":"a","N":"z"}`,
			invalid: "The parameter cannot be converted to a numeric value: z",
		},
		{name: "32 lists around a string are too deep", in: nested(32), invalid: msgTooDeep},
		{name: "very deep nesting is skipped over", in: nested(3000), invalid: msgTooDeep},

		{name: "a number for a string", in: `{"S":1}`, broken: "NUMBER_VALUE cannot be converted to String"},
		{name: "a fraction for a string", in: `{"N":1.5}`, broken: "DECIMAL_VALUE cannot be converted to String"},
		{name: "a boolean for a string", in: `{"S":true}`, broken: "TRUE_VALUE cannot be converted to String"},
		{name: "an object for a string", in: `{"S":{}}`, broken: notExpected},
		{name: "an array for a string", in: `{"S":[]}`, broken: "Unrecognized collection type class java.lang.String"},
		{name: "a number for a boolean", in: `{"BOOL":1}`, broken: "NUMBER_VALUE cannot be converted to Boolean"},
		{name: "another word for a boolean", in: `{"BOOL":"maybe"}`, broken: "Unexpected token received from parser"},
		{
			name:   "base64 without padding",
			in:     `{"B":"YQ"}`,
			broken: "Base64 encoded length is expected a multiple of 4 bytes but found: 2",
		},
		{name: "a number for binary", in: `{"B":1}`, broken: "only base-64-encoded strings are convertible to bytes"},
		{name: "an object for a list", in: `{"L":{}}`, broken: notExpected},
		{name: "a string for a set", in: `{"SS":"a"}`, broken: "Unexpected field type"},
		{name: "a string for a value", in: `"a"`, broken: "Unexpected value type in payload"},
		{
			name:   "an array for a value",
			in:     `[]`,
			broken: "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
		},
		{name: "an array for a map", in: `{"M":[]}`, broken: "Unrecognized collection type " + javaMap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v Value

			err := json.Unmarshal([]byte(tt.in), &v)
			if tt.broken != "" {
				var s *serializationError
				if !errors.As(err, &s) || s.Message != tt.broken {
					t.Fatalf("got error %v, want serializationError %q", err, tt.broken)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if tt.invalid != "" {
				if err := v.Err(); err == nil || !isValidation(err) || err.Error() != tt.invalid {
					t.Fatalf("got %v, want ValidationError %q", err, tt.invalid)
				}
				return
			}

			if !reflect.DeepEqual(tt.want, v) {
				t.Fatalf("got  %+v\nwant %+v", v, tt.want)
			}
		})
	}
}

func deep(lists int) Value {
	v := Value{Kind: S, Str: "x"}
	for range lists {
		v = NewList([]Value{v})
	}

	return v
}

func TestItemErrNamesTheFirstFault(t *testing.T) {
	var i Item
	if err := json.Unmarshal([]byte(`{"z":{},"b":{"N":"x"},"c":{"S":"ok"}}`), &i); err != nil {
		t.Fatal(err)
	}

	if err := i.Err(); err == nil || err.Error() != "The parameter cannot be converted to a numeric value: x" {
		t.Fatalf("got %v", err)
	}
}

func TestNullItemIsNil(t *testing.T) {
	i := Item{"a": {Kind: NULL, Bool: true}}
	if err := json.Unmarshal([]byte(`null`), &i); err != nil || i != nil {
		t.Fatalf("got %v, %v", i, err)
	}
}

func TestAppendJSON(t *testing.T) {
	const in = `{"b":{"B":"YQ=="},"l":{"L":[{"NULL":true},{"BOOL":true},{"BOOL":false}]},` +
		`"m":{"M":{"é":{"N":"-0.5"}}},"n":{"NS":["1","2"]},"s":{"S":"a\"\\\n"},"t":{"SS":["x"]},"u":{"BS":["","YQ=="]}}`

	var i Item
	if err := json.Unmarshal([]byte(in), &i); err != nil {
		t.Fatal(err)
	}

	if got := string(i.AppendJSON(nil)); got != in {
		t.Fatalf("got  %s\nwant %s", got, in)
	}

	var again Item
	if err := stdjson.Unmarshal([]byte(in), &again); err != nil {
		t.Fatal(err)
	}

	std, err := stdjson.Marshal(map[string]any{"Item": again})
	if err != nil || string(std) != `{"Item":`+in+`}` {
		t.Fatalf("encoding/json wrote %s, %v", std, err)
	}

	exp, err := json.Marshal(struct{ Item Item }{again})
	if err != nil || string(exp) != `{"Item":`+in+`}` {
		t.Fatalf("go-json-experiment wrote %s, %v", exp, err)
	}
}

// TestPlainTexts: each byte at each place of a text of any length is judged alike, however many are read at a time.
func TestPlainTexts(t *testing.T) {
	const letters = "0123456789 abcdefghijkl"

	for length := range len(letters) + 1 {
		if !plain(letters[:length]) {
			t.Errorf("%q is not plain", letters[:length])
		}

		for at := range length {
			for c := range 256 {
				text := []byte(letters[:length])
				text[at] = byte(c)

				if want := c >= ' ' && c < 0x7F && c != '"' && c != '\\'; plain(string(text)) != want {
					t.Errorf("byte %#x at %d of %d: plain is %v", c, at, length, !want)
				}
			}
		}
	}
}
