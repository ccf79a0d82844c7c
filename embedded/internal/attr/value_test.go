package attr

import "testing"

// The sizes were observed on DynamoDB Local 3.1.0: padding an item until it consumes
// another capacity unit reveals its size.
func TestSize(t *testing.T) {
	s := func(text string) Value { return Value{Kind: S, Str: text} }
	n := func(text string) Value { return Value{Kind: N, Str: text} }
	for _, tt := range []struct {
		name string
		v    Value
		want int
	}{
		{name: "a string by its UTF-8 bytes", v: s("é"), want: 2},
		{name: "zero", v: n("0"), want: 1},
		{name: "one digit", v: n("1"), want: 2},
		{name: "two digits in one pair", v: n("12"), want: 2},
		{name: "three digits in two pairs", v: n("123"), want: 3},
		{name: "trailing zeros cost nothing", v: n("1000"), want: 2},
		{name: "pairs start at the point", v: n("1.5"), want: 3},
		{name: "leading zeros cost nothing", v: n("0.01"), want: 2},
		{name: "a sign costs a byte", v: n("-12"), want: 3},
		{name: "38 digits", v: n("12345678901234567890123456789012345678"), want: 20},
		{name: "38 digits across pairs", v: n("1234567890123456789012345678901234567.8"), want: 21},
		{name: "37 digits with a sign", v: n("-1234567890123456789012345678901234567"), want: 21},
		{name: "a boolean", v: Value{Kind: BOOL}, want: 1},
		{name: "null", v: Value{Kind: NULL}, want: 1},
		{name: "an empty list", v: Value{Kind: L}, want: 3},
		{name: "a list of two", v: NewList([]Value{s("a"), n("1")}), want: 8},
		{name: "an empty map", v: Value{Kind: M}, want: 3},
		{name: "a map", v: Value{Kind: M, Map: Item{"k": s("a")}}, want: 6},
		{name: "a map in a map", v: Value{Kind: M, Map: Item{"k": {Kind: M, Map: Item{"z": {Kind: NULL}}}}}, want: 11},
		{name: "a string set", v: NewSortedSet(SS, []string{"a", "bb"}), want: 3},
		{name: "a number set", v: NewSortedSet(NS, []string{"1", "100"}), want: 4},
		{name: "binary by its raw bytes", v: Value{Kind: B, Str: "aa"}, want: 2},
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
	list := func(v ...Value) Value { return NewList(v) }
	a, one := Value{Kind: S, Str: "a"}, Value{Kind: N, Str: "1"}
	for _, tt := range []struct {
		name string
		a, b Value
		want bool
	}{
		{name: "the same string", a: a, b: a, want: true},
		{name: "a string and binary of the same bytes", a: a, b: Value{Kind: B, Str: "a"}, want: false},
		{name: "a string and a number of the same text", a: Value{Kind: S, Str: "1"}, b: one, want: false},
		{name: "booleans", a: Value{Kind: BOOL, Bool: true}, b: Value{Kind: BOOL}, want: false},
		{name: "nulls", a: Value{Kind: NULL}, b: Value{Kind: NULL, Bool: true}, want: true},
		{name: "lists in order", a: list(a, one), b: list(a, one), want: true},
		{name: "lists out of order", a: list(a, one), b: list(one, a), want: false},
		{name: "lists of other lengths", a: list(a), b: list(a, one), want: false},
		{name: "maps", a: Value{Kind: M, Map: Item{"x": a}}, b: Value{Kind: M, Map: Item{"x": a}}, want: true},
		{
			name: "maps with other names",
			a:    Value{Kind: M, Map: Item{"x": a}},
			b:    Value{Kind: M, Map: Item{"y": a}},
			want: false,
		},
		{
			name: "sets",
			a:    NewSortedSet(SS, []string{"a", "b"}),
			b:    NewSortedSet(SS, []string{"a", "b"}),
			want: true,
		},
		{
			name: "sets with other members",
			a:    NewSortedSet(SS, []string{"a", "b"}),
			b:    NewSortedSet(SS, []string{"a", "c"}),
			want: false,
		},
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
