package attr

import "testing"

// The sizes were measured with DynamoDB Local 3.1.0 by the capacity that items of
// known padding consume.
func TestSize(t *testing.T) {
	s := func(text string) Value { return Value{Kind: S, Str: text} }
	n := func(text string) Value { return Value{Kind: N, Str: text} }
	for _, tt := range []struct {
		name string
		v    Value
		want int
	}{
		{"a string by its UTF-8 bytes", s("é"), 2},
		{"zero", n("0"), 1},
		{"one digit", n("1"), 2},
		{"two digits in one pair", n("12"), 2},
		{"three digits in two pairs", n("123"), 3},
		{"trailing zeros cost nothing", n("1000"), 2},
		{"pairs start at the point", n("1.5"), 3},
		{"leading zeros cost nothing", n("0.01"), 2},
		{"a sign costs a byte", n("-12"), 3},
		{"38 digits", n("12345678901234567890123456789012345678"), 20},
		{"38 digits across pairs", n("1234567890123456789012345678901234567.8"), 21},
		{"37 digits with a sign", n("-1234567890123456789012345678901234567"), 21},
		{"a boolean", Value{Kind: BOOL}, 1},
		{"null", Value{Kind: NULL}, 1},
		{"an empty list", Value{Kind: L}, 3},
		{"a list of two", Value{Kind: L, List: []Value{s("a"), n("1")}}, 8},
		{"an empty map", Value{Kind: M}, 3},
		{"a map", Value{Kind: M, Map: Item{"k": s("a")}}, 6},
		{"a map in a map", Value{Kind: M, Map: Item{"k": {Kind: M, Map: Item{"z": {Kind: NULL}}}}}, 11},
		{"a string set", Value{Kind: SS, Set: []string{"a", "bb"}}, 3},
		{"a number set", Value{Kind: NS, Set: []string{"1", "100"}}, 4},
		{"binary by its raw bytes", Value{Kind: B, Str: "aa"}, 2},
	} {
		if got := tt.v.Size(); got != tt.want {
			t.Errorf("%s: got %d bytes, want %d", tt.name, got, tt.want)
		}
	}

	if got := (Item{"id": s("a"), "v": s("bc")}).Size(); got != 6 {
		t.Errorf("an item counts its names: got %d, want 6", got)
	}
}

func TestEqual(t *testing.T) {
	list := func(v ...Value) Value { return Value{Kind: L, List: v} }
	a, one := Value{Kind: S, Str: "a"}, Value{Kind: N, Str: "1"}
	for _, tt := range []struct {
		name string
		a, b Value
		want bool
	}{
		{"the same string", a, a, true},
		{"a string and binary of the same bytes", a, Value{Kind: B, Str: "a"}, false},
		{"a string and a number of the same text", Value{Kind: S, Str: "1"}, one, false},
		{"booleans", Value{Kind: BOOL, Bool: true}, Value{Kind: BOOL}, false},
		{"nulls", Value{Kind: NULL}, Value{Kind: NULL, Bool: true}, true},
		{"lists in order", list(a, one), list(a, one), true},
		{"lists out of order", list(a, one), list(one, a), false},
		{"lists of other lengths", list(a), list(a, one), false},
		{"maps", Value{Kind: M, Map: Item{"x": a}}, Value{Kind: M, Map: Item{"x": a}}, true},
		{"maps with other names", Value{Kind: M, Map: Item{"x": a}}, Value{Kind: M, Map: Item{"y": a}}, false},
		{"sets", Value{Kind: SS, Set: []string{"a", "b"}}, Value{Kind: SS, Set: []string{"a", "b"}}, true},
		{"sets with other members", Value{Kind: SS, Set: []string{"a", "b"}}, Value{Kind: SS, Set: []string{"a", "c"}}, false},
	} {
		if Equal(tt.a, tt.b) != tt.want || Equal(tt.b, tt.a) != tt.want {
			t.Errorf("%s: want %v", tt.name, tt.want)
		}
	}

	if _, ok := Compare(a, one); ok {
		t.Error("a string and a number are in an order")
	}

	if _, ok := Compare(list(a), list(a)); ok {
		t.Error("lists are in an order")
	}
}

func TestKindNames(t *testing.T) {
	for k := S; k <= BS; k++ {
		if KindOf(k.String()) != k {
			t.Errorf("%d is written %q and read as %d", k, k, KindOf(k.String()))
		}
	}

	if KindOf("") != Invalid || KindOf("X") != Invalid || Kind(99).String() != "" {
		t.Error("an unknown kind has a name")
	}
}

func TestDepth(t *testing.T) {
	if got := deep(31).Depth(); got != MaxDepth {
		t.Errorf("got %d", got)
	}

	if got := (Value{Kind: M}).Depth(); got != 1 {
		t.Errorf("an empty map has depth %d", got)
	}
}
