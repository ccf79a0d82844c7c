package attr

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// genValue draws any value of at most the given depth.
func genValue(depth int) *rapid.Generator[Value] {
	text := rapid.StringN(0, 6, 20)
	// The bytes that the key encoding escapes, and their neighbors.
	rawBytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xFE, 0xFF}), 0, 4)
	raw := rapid.Map(rawBytes, func(b []byte) string { return string(b) })
	set := func(kind Kind, members *rapid.Generator[string]) *rapid.Generator[Value] {
		return rapid.Map(rapid.SliceOfNDistinct(members, 1, 4, rapid.ID[string]), func(m []string) Value {
			SortSet(kind, m)
			return NewSortedSet(kind, m)
		})
	}

	kinds := []*rapid.Generator[Value]{
		rapid.Map(text, func(s string) Value { return Value{Kind: S, Str: s} }),
		rapid.Map(genNumber(), func(s string) Value { return Value{Kind: N, Str: s} }),
		rapid.Map(raw, func(s string) Value { return Value{Kind: B, Str: s} }),
		rapid.Map(rapid.Bool(), func(b bool) Value { return Value{Kind: BOOL, Bool: b} }),
		rapid.Just(Value{Kind: NULL, Bool: true}),
		set(SS, text), set(NS, genNumber()), set(BS, raw),
	}
	if depth > 1 {
		inner := rapid.Deferred(func() *rapid.Generator[Value] { return genValue(depth - 1) })
		list := func(l []Value) Value { return NewList(append([]Value{}, l...)) }
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), list),
			rapid.Map(genItem(depth-1), func(i Item) Value { return Value{Kind: M, Map: i} }),
		)
	}

	return rapid.OneOf(kinds...)
}

func genItem(depth int) *rapid.Generator[Item] {
	name := rapid.StringN(1, 6, 20)
	value := rapid.Deferred(func() *rapid.Generator[Value] { return genValue(depth) })

	return rapid.Map(rapid.MapOfN(name, value, 0, 4), func(m map[string]Value) Item { return m })
}

// Every item survives both encodings, and equal items have equal bytes.
func TestEncodingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := genItem(4).Draw(t, "item")

		binary := AppendBinary(nil, item)
		back, err := DecodeBinary(binary)
		if err != nil || !EqualItems(item, back) {
			t.Fatalf("binary: got %v, %v", back, err)
		}

		if again := AppendBinary(nil, back); !bytes.Equal(binary, again) {
			t.Fatalf("equal items are encoded differently:\n%x\n%x", binary, again)
		}

		text := item.AppendJSON(nil)
		var fromJSON Item
		if err := json.Unmarshal(text, &fromJSON); err != nil || fromJSON.Err() != nil || !EqualItems(item, fromJSON) {
			t.Fatalf("JSON %s: got %v, %v, %v", text, fromJSON, err, fromJSON.Err())
		}

		if direct, err := AppendBinaryJSON([]byte("before"), binary); err != nil || string(direct) != "before"+string(text) {
			t.Fatalf("the encoding becomes %s, %v; want %s", direct, err, text)
		}

		if size := item.Size(); size != back.Size() || size < 0 {
			t.Fatalf("size %d becomes %d", size, back.Size())
		}
	})
}

// Keys compare as their values do, no key is a prefix of another, and bytes behind a key do not
// change its order.
func TestKeyOrderIsValueOrder(t *testing.T) {
	text := rapid.StringMatching(`[\x00\x01a\x{FF}]{0,4}`)
	pair := func(t *rapid.T, label string) Value {
		switch rapid.IntRange(0, 2).Draw(t, label) {
		case 0:
			return Value{Kind: S, Str: text.Draw(t, label)}
		case 1:
			return Value{Kind: B, Str: text.Draw(t, label)}
		default:
			return Value{Kind: N, Str: genNumber().Draw(t, label)}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := pair(t, "a"), pair(t, "b")
		ka, kb := AppendKey(nil, a), AppendKey(nil, b)
		if !bytes.Equal(ka, kb) && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("the key of %v is a prefix of the other's: %x, %x", a, ka, kb)
		}

		if order, ok := Compare(a, b); ok && bytes.Compare(ka, kb) != order {
			t.Fatalf("%q and %q: order %d, keys %x and %x", a.Str, b.Str, order, ka, kb)
		}

		tail := pair(t, "tail")
		if !bytes.Equal(ka, kb) {
			long, other := AppendKey(bytes.Clone(ka), tail), AppendKey(bytes.Clone(kb), tail)
			if bytes.Compare(long, other) != bytes.Compare(ka, kb) {
				t.Fatalf("what follows changes the order of %x and %x", ka, kb)
			}
		}

		if a.Kind != N {
			if prefix := AppendKeyPrefix(nil, Value{Kind: a.Kind, Str: a.Str[:len(a.Str)/2]}); !bytes.HasPrefix(ka, prefix) {
				t.Fatalf("%x does not begin with its prefix %x", ka, prefix)
			}
		}
	})
}

func TestDecodeBinaryRefusesDamage(t *testing.T) {
	whole := AppendBinary(nil, Item{
		"a": {Kind: S, Str: "x"},
		"n": NewSortedSet(NS, []string{"1", "20"}),
		"m": {Kind: M, Map: Item{"k": {Kind: NULL}}},
	})
	for n := range whole {
		if item, err := DecodeBinary(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes decode to %v", n, len(whole), item)
		}

		if text, err := AppendBinaryJSON(nil, whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes become %s", n, len(whole), text)
		}
	}

	if _, err := DecodeBinary(append(bytes.Clone(whole), 0)); err == nil {
		t.Error("a byte too many is accepted")
	}

	other := bytes.Clone(whole)
	other[0]++
	if _, err := DecodeBinary(other); err == nil {
		t.Error("another version is accepted")
	}
}

// decodeBoth decodes an encoding, and compares with AppendBinaryJSON of the same bytes.
func decodeBoth(t interface{ Fatalf(string, ...any) }, b []byte) (Item, error) {
	item, err := DecodeBinary(b)

	text, direct := AppendBinaryJSON(nil, b)
	if (err == nil) != (direct == nil) || err != nil && err.Error() != direct.Error() {
		t.Fatalf("%x decodes with %v, and becomes JSON with %v", b, err, direct)
	}

	if err == nil {
		if want := item.AppendJSON(nil); !bytes.Equal(text, want) {
			t.Fatalf("%x becomes %s, want %s", b, text, want)
		}
	}

	return item, err
}

// Both readers of encodings refuse the same damage.
func TestReadersOfDamagedEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := AppendBinary(nil, genItem(4).Draw(t, "item"))
		small := rapid.OneOf(rapid.Byte(), rapid.ByteRange(0, tagBinarySet+1), rapid.SampledFrom([]byte{'-', '0', '.', 'E', '"', 0x80}))

		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(whole)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				whole = slices.Insert(whole, at, small.Draw(t, "more"))
			case 1:
				if len(whole) > 1 {
					whole = slices.Delete(whole, at, at+1)
				}
			default:
				whole[at] = small.Draw(t, "byte")
			}
		}

		_, _ = decodeBoth(t, whole)
	})
}

// Each rule of the encoding, broken by itself.
func TestReadersOfBrokenRules(t *testing.T) {
	one := func(value ...byte) []byte { return append([]byte{binaryVersion, 1, 1, 'a'}, value...) }
	around := func(levels int, tag byte, inner ...byte) []byte {
		var value []byte
		for range levels {
			if value = append(value, tag, 1); tag == tagMap {
				value = append(value, 1, 'x')
			}
		}

		return one(append(value, inner...)...)
	}
	nested := func(levels int, tag byte) []byte { return around(levels, tag, tagNull) }

	for _, row := range []struct {
		rule string
		b    []byte
		want string // part of the error, empty for none
	}{
		{"names in their order", []byte{binaryVersion, 2, 1, 'b', tagNull, 1, 'a', tagNull}, "out of order"},
		{"each name once", []byte{binaryVersion, 2, 1, 'a', tagNull, 1, 'a', tagNull}, "out of order"},
		{"an empty name comes first", []byte{binaryVersion, 2, 0, tagNull, 1, 'a', tagNull}, ""},
		{"members in their order", one(tagStringSet, 2, 1, 'b', 1, 'a'), "a set is out of order"},
		{"each member once", one(tagBinarySet, 2, 1, 'a', 1, 'a'), "a set is out of order"},
		{"each number once", one(tagNumberSet, 2, 1, '9', 1, '9'), "a set is out of order"},
		{"numbers in their order", one(tagNumberSet, 2, 2, '1', '0', 1, '9'), "a set is out of order"},
		{"numbers are no texts", one(tagNumberSet, 2, 1, '9', 2, '1', '0'), ""},
		{"no empty set", one(tagNumberSet, 0), "a set is empty"},
		{"numbers as they are written", one(tagNumber, 2, '0', '1'), "not a canonical number"},
		{"zero has no sign", one(tagNumber, 2, '-', '0'), "not a canonical number"},
		{"no number without digits", one(tagNumber, 1, '-'), "not a canonical number"},
		{"no empty number", one(tagNumber, 0), "not a canonical number"},
		{"numbers in sets", one(tagNumberSet, 1, 1, 'x'), "not a canonical number"},
		{"known tags", one(tagBinarySet + 1), "tag 12 is unknown"},
		{"short lengths", one(tagString, 0x81, 0x00, 'x'), "more bytes than it needs"},
		{"lengths of five bytes", one(tagString, 0x81, 0x80, 0x80, 0x80, 0x80, 0x01, 'x'), "more than 5 bytes"},
		{"lengths beyond 64 bits", one(tagString, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 'x'), "more than 5 bytes"},
		{"lengths within the item", one(tagString, 2, 'x'), "exceeds what is left"},
		{"nothing after the item", one(tagNull, 0), "1 bytes follow the item"},
		{"maps up to the depth", nested(MaxDepth-1, tagMap), ""},
		{"no deeper map", nested(MaxDepth, tagMap), "nested deeper"},
		{"lists up to the depth", nested(MaxDepth-1, tagList), ""},
		{"no deeper list", nested(MaxDepth, tagList), "nested deeper"},
		{"an empty list as the deepest", around(MaxDepth-1, tagList, tagList, 0), ""},
		{"an empty map as the deepest", around(MaxDepth-1, tagMap, tagMap, 0), ""},
		{"no deeper empty list", around(MaxDepth, tagList, tagList, 0), "nested deeper"},
		{"no deeper empty map", around(MaxDepth, tagMap, tagMap, 0), "nested deeper"},
		{"a length that is too long beyond the depth", around(MaxDepth-1, tagList, tagList, 9, tagNull), "exceeds what is left"},
	} {
		_, err := decodeBoth(t, row.b)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", row.rule, err, row.want)
		}
	}
}

// Lengths survive on both sides of each limit at which their encoding takes one byte more, in each place that
// has a length.
func TestLengthsOfSeveralBytes(t *testing.T) {
	for _, n := range []int{0, 1, 126, 127, 128, 129, 255, 256, 257, 16_383, 16_384, 16_385} {
		text := strings.Repeat("x", n)

		list, members := make([]Value, n), make([]string, n+1)
		for i := range list {
			list[i] = Value{Kind: NULL, Bool: true}
		}

		for i := range members {
			members[i] = strconv.Itoa(100_000 + i)
		}

		whole := AppendBinary(nil, Item{
			text: {Kind: S, Str: text}, "b": {Kind: B, Str: text}, "l": NewList(list),
			"n": NewSortedSet(NS, members), "s": NewSortedSet(SS, members), "t": NewSortedSet(SS, []string{text}),
		})

		item, err := decodeBoth(t, whole)
		if err != nil || !bytes.Equal(AppendBinary(nil, item), whole) {
			t.Errorf("length %d: %v", n, err)
		}
	}
}

func FuzzDecodeBinary(f *testing.F) {
	f.Add(AppendBinary(nil, Item{"a": {Kind: S, Str: "x"}, "l": NewList([]Value{{Kind: N, Str: "1"}})}))
	f.Add(AppendBinary(nil, Item{"s": NewSortedSet(BS, []string{"", "a"}), "m": {Kind: M, Map: Item{}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		item, err := decodeBoth(t, b)
		if err != nil {
			return
		}

		if again := AppendBinary(nil, item); !bytes.Equal(b, again) {
			t.Fatalf("%x decodes, but is encoded as %x", b, again)
		}
		item.Size()
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":{"S":"x"}}`,
		`{"a":{"N":"1e3"},"b":{"L":[{"BOOL":true},{"NULL":true}]}}`,
		`{"s":{"SS":["a","b"]},"n":{"NS":["1","2"]},"b":{"BS":["YQ=="]}}`,
		`{"m":{"M":{"x":{"M":{}}}}}`,
		`{"a":{}}`,
		`null`,
		`[`,
	} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		var item Item
		err := json.Unmarshal(b, &item)
		if err != nil || item == nil || item.Err() != nil {
			return
		}

		var again Item
		if err := json.Unmarshal(item.AppendJSON(nil), &again); err != nil || !EqualItems(item, again) {
			t.Fatalf("%s becomes %s: %v", b, item.AppendJSON(nil), err)
		}

		stored, err := DecodeBinary(AppendBinary(nil, item))
		if err != nil || !EqualItems(item, stored) {
			t.Fatalf("%s cannot be stored: %v", b, err)
		}
	})
}

func TestKeyOfADocumentPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	AppendKey(nil, Value{Kind: M})
}

func TestStandardErrorsUnwrap(t *testing.T) {
	var v Value
	var s *serializationError
	if err := v.UnmarshalJSON([]byte(`{"S":1}`)); !errors.As(err, &s) {
		t.Fatalf("got %v", err)
	}
}
