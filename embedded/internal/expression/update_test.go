package expression

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/attr"
)

// UPDATED_NEW and UPDATED_OLD return the fragment that was written, as the service
// does (https://github.com/ExtendDB/extenddb/issues/98); DynamoDB Local returns the
// whole attribute.
func TestProjectReturnsTheFragment(t *testing.T) {
	item := attr.Item{
		"a": {Kind: attr.S, Str: "x"},
		"m": {Kind: attr.M, Map: attr.Item{"k": {Kind: attr.S, Str: "x"}, "other": {Kind: attr.S, Str: "y"}}},
		"l": attr.NewList([]attr.Value{{Kind: attr.N, Str: "1"}, {Kind: attr.N, Str: "2"}}),
	}
	for _, tt := range []struct{ src, before, after string }{
		{"SET m.k = :v", `{"m":{"M":{"k":{"S":"x"}}}}`, `{"m":{"M":{"k":{"S":"v"}}}}`},
		{"SET l[1] = :v", `{"l":{"L":[{"N":"2"}]}}`, `{"l":{"L":[{"S":"v"}]}}`},
		{"SET l[9] = :v", `{}`, `{}`},
		{"SET z = :v", `{}`, `{"z":{"S":"v"}}`},
		{"SET z = :v REMOVE a", `{"a":{"S":"x"}}`, `{"z":{"S":"v"}}`},
	} {
		u, err := ParseUpdate(tt.src, NewParams(nil, map[string]attr.Value{":v": {Kind: attr.S, Str: "v"}}))
		if err != nil {
			t.Fatal(err)
		}

		next, err := u.Apply(item)
		if err != nil {
			t.Fatal(err)
		}

		if before, after := string(u.Project(item).AppendJSON(nil)), string(u.Project(next).AppendJSON(nil)); before != tt.before || after != tt.after {
			t.Errorf("%s: got %s and %s, want %s and %s", tt.src, before, after, tt.before, tt.after)
		}
	}
}

func TestUpdateCannotNestTooDeep(t *testing.T) {
	deep := attr.Value{Kind: attr.S, Str: "x"}
	for range 31 {
		deep = attr.NewList([]attr.Value{deep})
	}

	u, err := ParseUpdate("SET m.x = a", NewParams(nil, nil))
	if err != nil {
		t.Fatal(err)
	}

	_, err = u.Apply(attr.Item{"a": deep, "m": {Kind: attr.M, Map: attr.Item{}}})
	if err == nil || err.Error() != msgTooDeep {
		t.Fatalf("got %v", err)
	}
}

// genUpdate draws an update over the attributes of genItem; most of them fit.
func genUpdate() *rapid.Generator[string] {
	path := rapid.SampledFrom([]string{"a", "b", "n", "s", "m.a", "m.n", "m.l[0]", "m.l[7]", "l[0]", "l[1]", "l[2].a", "l[9]", "z"})
	value := rapid.SampledFrom([]string{":n", ":s", ":l", "a", "n", "m", "l", "n + :n", "n - m.n", ":n + :n",
		"list_append(l, :l)", "list_append(:l, m.l)", "if_not_exists(z, :s)", "if_not_exists(n, :n) + :n"})

	return rapid.Custom(func(t *rapid.T) string {
		var parts []string
		section := func(word string, clause func() string) {
			if count := rapid.IntRange(0, 3).Draw(t, word); count > 0 {
				clauses := make([]string, count)
				for n := range clauses {
					clauses[n] = clause()
				}
				parts = append(parts, word+" "+strings.Join(clauses, ", "))
			}
		}
		section("SET", func() string { return path.Draw(t, "path") + " = " + value.Draw(t, "value") })
		section("REMOVE", func() string { return path.Draw(t, "path") })
		section("ADD", func() string {
			return path.Draw(t, "path") + " " + rapid.SampledFrom([]string{":n", ":ss"}).Draw(t, "value")
		})
		section("DELETE", func() string { return path.Draw(t, "path") + " :ss" })

		return strings.Join(parts, " ")
	})
}

func updateItem() attr.Item {
	number := func(n int) attr.Value { return attr.Value{Kind: attr.N, Str: fmt.Sprint(n)} }
	text := attr.Value{Kind: attr.S, Str: "x"}

	return attr.Item{
		"a": text, "b": text, "n": number(5), "s": attr.NewSortedSet(attr.SS, []string{"a", "b"}),
		"m": {Kind: attr.M, Map: attr.Item{"a": text, "n": number(2), "l": attr.NewList([]attr.Value{number(1)})}},
		"l": attr.NewList([]attr.Value{number(1), text, {Kind: attr.M, Map: attr.Item{"a": text}}}),
	}
}

// An update never changes the item it reads, not even where the new item shares
// parts of it, and does the same thing every time.
func TestUpdateNeverChangesItsInput(t *testing.T) {
	values := map[string]attr.Value{
		":n": {Kind: attr.N, Str: "3"}, ":s": {Kind: attr.S, Str: "new"}, ":ss": attr.NewSortedSet(attr.SS, []string{"a", "c"}),
		":l": attr.NewList([]attr.Value{{Kind: attr.S, Str: "new"}}),
	}
	rapid.Check(t, func(t *rapid.T) {
		item := updateItem()
		before := string(item.AppendJSON(nil))
		for range rapid.IntRange(1, 4).Draw(t, "updates") {
			src := genUpdate().Draw(t, "update")
			if src == "" {
				continue
			}

			u, err := ParseUpdate(src, NewParams(nil, values))
			if err != nil {
				continue
			}

			next, err := u.Apply(item)
			if got := string(item.AppendJSON(nil)); got != before {
				t.Fatalf("%s changed its input:\n%s\n%s", src, before, got)
			}

			if err != nil {
				continue
			}

			again, err := u.Apply(item)
			if err != nil || !attr.EqualItems(next, again) {
				t.Fatalf("%s applied twice differs: %v", src, err)
			}
			item, before = next, string(next.AppendJSON(nil))
		}
	})
}

// An update in place gives the same item as an update of a copy.
func TestUpdateInPlace(t *testing.T) {
	values := map[string]attr.Value{
		":n": {Kind: attr.N, Str: "3"}, ":s": {Kind: attr.S, Str: "new"}, ":ss": attr.NewSortedSet(attr.SS, []string{"a", "c"}),
		":l": attr.NewList([]attr.Value{{Kind: attr.S, Str: "new"}}),
	}

	rapid.Check(t, func(t *rapid.T) {
		src := genUpdate().Draw(t, "update")
		if rapid.Bool().Draw(t, "shared") {
			src = rapid.SampledFrom([]string{"SET z = l, l[0] = :n", "SET z = l REMOVE l[0], l[1]", "SET z = m, m.l[0] = :n", "SET z = m.l REMOVE m.l[0]",
				"SET z = l[2], l[2].a = :n", "SET z = if_not_exists(l, :l), l[1] = :s, l[9] = :n", "SET l[9] = l, l[0] = :n"}).Draw(t, "update that shares")
		}

		u, err := ParseUpdate(src, NewParams(nil, values))
		if src == "" || err != nil {
			return
		}

		want, refused := u.Apply(updateItem())

		got, err := u.Change(updateItem())
		if (err == nil) != (refused == nil) || err == nil && !attr.EqualItems(got, want) {
			t.Fatalf("%s: %s, %v\nof a copy: %s, %v", src, got.AppendJSON(nil), err, want.AppendJSON(nil), refused)
		}
	})
}

// Two updates of one item do not share the spare capacity of its lists.
func TestUpdatesDoNotShareRoom(t *testing.T) {
	one := attr.Value{Kind: attr.N, Str: "1"}
	item := attr.Item{"l": attr.NewList(append(make([]attr.Value, 0, 8), one))}

	parsed := func(src, name string, v attr.Value) (*Update, error) {
		return ParseUpdate(src, NewParams(nil, map[string]attr.Value{name: v}))
	}

	for name, build := range map[string]func(v attr.Value) (*Update, error){
		"an index beyond the end": func(v attr.Value) (*Update, error) { return parsed("SET l[9] = :v", ":v", v.List()[0]) },
		"list_append":             func(v attr.Value) (*Update, error) { return parsed("SET l = list_append(l, :l)", ":l", v) },
		"ADD of AttributeUpdates": func(v attr.Value) (*Update, error) { return NewUpdate([]Assignment{{"l", "ADD", &v}}) },
	} {
		var items []attr.Item
		for _, text := range []string{"first", "second"} {
			u, err := build(attr.NewList([]attr.Value{{Kind: attr.S, Str: text}}))
			if err != nil {
				t.Fatal(err)
			}

			next, err := u.Apply(item)
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, next)
		}

		if got, want := string(items[0].AppendJSON(nil)), `{"l":{"L":[{"N":"1"},{"S":"first"}]}}`; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
