package expression

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ratchet/embedded/internal/attr"
)

func text(s string) attr.Value { return attr.Value{Kind: attr.S, Str: s} }

// TestAKeptExpressionHasTheReferencesOfItsRequest: names, values, and what is used of them, with many requests at once.
func TestAKeptExpressionHasTheReferencesOfItsRequest(t *testing.T) {
	const condition, update = "#a.b = :v AND attribute_exists(c)", "SET #a.b = :v, d = if_not_exists(e, :w) REMOVE c"

	var requests sync.WaitGroup
	for n := range 200 {
		requests.Go(func() {
			name, value := fmt.Sprint("n", n), text(fmt.Sprint("v", n))
			item := attr.Item{
				name: {Kind: attr.M, Map: attr.Item{"b": value}},
				"c":  text("c"),
			}
			p := NewParams(map[string]string{"#a": name}, map[string]attr.Value{":v": value, ":w": value})

			c, err := ParseCondition("ConditionExpression", condition, p)
			if err != nil {
				t.Error(err)
				return
			}

			if err := p.Unused(); err == nil || !strings.Contains(err.Error(), "{:w}") {
				t.Errorf("before the update: unused %v", err)
			}

			u, err := ParseUpdate(update, p)
			if err != nil || p.Unused() != nil {
				t.Error(err, p.Unused())
				return
			}

			if ok, _ := c.Match(item); !ok {
				t.Errorf("%s does not match", name)
			}

			next, err := u.Apply(item)
			if err != nil || next[name].Map["b"].Str != value.Str || next["d"].Str != value.Str || len(next) != 2 {
				t.Errorf("%s: %v, %v", name, next, err)
			}
		})
	}
	requests.Wait()
}

// TestAKeptExpressionIsRefusedLikeANewOne: the same text, whose references are missing or of another type.
func TestAKeptExpressionIsRefusedLikeANewOne(t *testing.T) {
	for _, src := range []string{"attribute_type(a, :v)", "#n < :v", "begins_with(a, :v) AND size(b) > :n", "#n.a = :v AND a.b = a.b"} {
		good := NewParams(map[string]string{"#n": "n"}, map[string]attr.Value{":v": text("S"), ":n": integer(1)})
		_, goodErr := ParseCondition("ConditionExpression", src, good)

		for about, p := range map[string]*Params{
			"nothing":      NewParams(nil, nil),
			"another name": NewParams(map[string]string{"#m": "n"}, map[string]attr.Value{":v": text("S")}),
			"another type": NewParams(map[string]string{"#n": "a"}, map[string]attr.Value{":v": {Kind: attr.BOOL}, ":n": {Kind: attr.NULL}}),
		} {
			_, kept := ParseCondition("ConditionExpression", src, p)

			tree, err := readCondition(src)
			if err == nil {
				err = tree.bind(p)
			}

			var want error
			if err != nil {
				want = invalidExpression("ConditionExpression", err)
			}

			if fmt.Sprint(kept) != fmt.Sprint(want) {
				t.Errorf("%s, %s: %v, want %v", src, about, kept, want)
			}
		}

		if _, again := ParseCondition("ConditionExpression", src, good); fmt.Sprint(again) != fmt.Sprint(goodErr) {
			t.Errorf("%s: %v, then %v", src, goodErr, again)
		}
	}
}

// TestKeptExpressionsHaveABound: texts that come once, and one that comes between them and stays.
func TestKeptExpressionsHaveABound(t *testing.T) {
	var k kept[*node]
	params := func() *Params { return NewParams(nil, map[string]attr.Value{":v": text("v")}) }
	read := 0
	usual := func() {
		t.Helper()

		if _, err := parse(&k, "usual = :v", func(src string) (*node, *Error) { read++; return readCondition(src) }, params()); err != nil {
			t.Fatal(err)
		}
	}

	for n := range 20_000 {
		src := fmt.Sprintf("a%d = :v OR %s", n, strings.Repeat("b = :v OR ", n%50)+"c = :v")
		if _, err := parse(&k, src, readCondition, params()); err != nil {
			t.Fatal(err)
		}

		usual()

		bytes := 0
		if n%1000 == 0 {
			for _, generation := range []map[string]unbound[*node]{k.young, k.old} {
				for src, e := range generation {
					bytes += len(src) + e.size.bytes()
				}
			}
		}

		if bytes > keptBytes {
			t.Fatalf("%d bytes are kept, want %d at most", bytes, keptBytes)
		}
	}

	if read != 1 {
		t.Errorf("the usual text was read %d times", read)
	}

	if len(k.young)+len(k.old) > 10_000 {
		t.Errorf("%d texts are kept", len(k.young)+len(k.old))
	}
}
