package jsonpath

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ohler55/ojg/jp"
	"github.com/ohler55/ojg/oj"
	"pgregory.net/rapid"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

const store = `{"store":{"book":[
 {"category":"reference","title":"Sayings","price":8.95,"tags":["a","b"]},
 {"category":"fiction","title":"Sword","price":12.99},
 {"category":"fiction","title":"Moby","isbn":"0-553","price":8.99},
 {"category":"fiction","title":"Lord","isbn":"0-395","price":22.99}],
 "bicycle":{"color":"red","price":19.95}},"limit":10,"a.b":{"c d":1},"a\\\"\"b":2,"it's":3,"big":9007199254740993,"none":null,
 "twice":{"x":1,"y":2,"x":{"z":3}}}`

func TestPaths(t *testing.T) {
	for _, row := range []struct{ path, want string }{
		{path: "$.limit", want: "10"},
		{path: "$.big", want: "9007199254740993"},
		{path: "$.none", want: "null"},
		{path: "$['a.b']['c d']", want: "1"},
		{path: `$["a.b"]["c d"]`, want: "1"},
		{path: `$['a\""b']`, want: "2"}, // LocalStack's test_escape_sequence_parsing
		{path: `$['it\'s']`, want: "3"},
		{path: "$.store.book[0].title", want: `"Sayings"`},
		{path: "$.store.book[-1].title", want: `"Lord"`},
		{path: "$.store.book[0,2].title", want: `["Sayings","Moby"]`},
		{path: "$.store.book[1:3].title", want: `["Sword","Moby"]`},
		{path: "$.store.book[:2].title", want: `["Sayings","Sword"]`},
		{path: "$.store.book[-2:].title", want: `["Moby","Lord"]`},
		{path: "$.store.book[*].price", want: "[8.95,12.99,8.99,22.99]"},
		{path: "$.store.*.color", want: `["red"]`},
		{path: "$..isbn", want: `["0-553","0-395"]`},
		{path: "$.store.book[?(@.price < 10)].title", want: `["Sayings","Moby"]`},
		{path: "$.store.book[?(@.price < $.limit && @.isbn)].title", want: `["Moby"]`},
		{path: "$.store.book[?(!(@.category == 'fiction') || @.price >= 22.99)].title", want: `["Sayings","Lord"]`},
		{path: "$.store.book[?(@.tags)].title", want: `["Sayings"]`},
		{path: "$.store.book[?(@.category in ['reference'])].title", want: `["Sayings"]`},
		{path: "$.store.book[?(@.none == 1)]", want: "[]"},
		{path: "$..nothing", want: "[]"},
		// The last of equal names counts: Jackson, which the service reads JSON with, keeps no other.
		{path: "$.twice.*", want: `[{"z":3},2]`},
		{path: "$.twice..z", want: "[3]"},
	} {
		p, err := Compile(row.path)
		if err != nil {
			t.Errorf("%s: %v", row.path, err)
			continue
		}

		got, err := p.Evaluate(&Scope{Input: []byte(store)})
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v; want %s", row.path, got, err, row.want)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, path := range []string{"$.no", "$.limit.x", "$.store.book[9]", "$$.Execution.Id"} {
		p, err := Compile(path)
		if err != nil {
			t.Fatal(err)
		}

		var missing *NotFoundError
		if got, err := p.Evaluate(&Scope{Input: []byte(store)}); !errors.As(err, &missing) {
			t.Errorf("%s gives %s, %v", path, got, err)
		}
	}
}

// A path that would read or match its document too often fails, in a filter, too. Each of them would take
// hours, or gigabytes, otherwise.
func TestAPathReadsOnlySoMuch(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 400) + `"` + strings.Repeat("x", 200_000) + `"` + strings.Repeat("}", 400)
	list := "[" + strings.Repeat("1,", 1000) + "1]"
	wide := `{"b":"` + strings.Repeat("x", 200_000) + `"}`

	for _, row := range []struct {
		path, document string
		most           int64
	}{
		{path: "$..a", document: deep, most: maxRead}, // 80 MB of matches
		{path: "$..a..a..b", document: deep, most: 64 << 20},
		{path: "$[?($[?($[?($[?(@ == 9)])])])]", document: list, most: 64 << 20},
		{path: "$[" + strings.Repeat("'no',", 1000) + "'no']", document: wide, most: 64 << 20},
	} {
		p, err := Compile(row.path)
		if err != nil {
			t.Fatal(err)
		}

		m := &Meter{read: maxRead - row.most}
		if v, err := p.Evaluate(&Scope{Input: []byte(row.document), Meter: m}); !errors.Is(err, errRead) && !errors.Is(err, errMatched) {
			t.Errorf("%.40s matches %d bytes: %v", row.path, len(v), err)
		}
	}
}

func TestBadPaths(t *testing.T) {
	for _, path := range []string{
		"", "a", "$.", "$..", "$[", "$[]", "$['a", "$[a]", "$ .a", "$.a b", "$.a,", "$[::2]", "$[::0]", "$[::-1]", "$[:]", "$.[", "$.a.", "$.a.[",
		"$.a[?@.b]", "$.a[?(@.b ==)]", "$.a[?(1)]", "$.a[?(@.b =~ /x/)]", "$.a.length()", "States.Nope()",
		"$" + strings.Repeat("[?(@", 40) + strings.Repeat(")]", 40),
	} {
		if _, err := Compile(path); err == nil {
			t.Errorf("%q compiles", path)
		}
	}

	for _, path := range []string{"$[*]", "$..a", "$.a[-1]", "$$.a", "$.a[0,1]", "$['a','b']", "$[?(@.a)]"} {
		if _, err := CompileReference(path); err == nil {
			t.Errorf("%q compiles as a reference path", path)
		}
	}
}

// Plain paths match the same values as in the module ojg.
func TestAgainstOjg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		var draw func(depth int) any
		draw = func(depth int) any {
			switch k := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case k == 0 && depth < 4:
				m := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					m[names.Draw(t, "name")] = draw(depth + 1)
				}

				return m
			case k == 1 && depth < 4:
				l := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					l = append(l, draw(depth+1))
				}

				return l
			default:
				return int64(rapid.IntRange(0, 9).Draw(t, "v"))
			}
		}
		document := draw(0)

		path := "$"
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			path += rapid.OneOf(
				rapid.Map(names, func(n string) string { return "." + n }),
				rapid.Map(rapid.IntRange(-3, 3), func(i int) string { return "[" + strconv.Itoa(i) + "]" }),
			).Draw(t, "step")
		}

		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}

		p, err := Compile(path)
		if err != nil {
			t.Fatal(err)
		}

		got, evalErr := p.Evaluate(&Scope{Input: text})
		want := jp.MustParseString(path).Get(document)
		if (evalErr == nil) != (len(want) == 1) {
			t.Fatalf("%s in %s: %s, %v; ojg %v", path, text, got, evalErr, want)
		}

		if evalErr == nil && !rawjson.Equal(got, []byte(oj.JSON(want[0]))) {
			t.Fatalf("%s in %s: %s; ojg %v", path, text, got, want)
		}
	})
}

// A path reads the value that the same reference path wrote.
func TestPutThenGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":{"b":[1,{"c":2}]},"d":[]}`, `{"a":[{"b":{}}]}`, store}).Draw(t, "document")
		path := "$"
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			path += rapid.SampledFrom([]string{".a", ".b", ".c", "[0]", "[1]", "['x y']"}).Draw(t, "step")
		}

		ref, err := CompileReference(path)
		if err != nil {
			t.Fatal(err)
		}

		out, err := ref.Put([]byte(document), []byte(`{"v":[1]}`))
		if err != nil {
			return
		}

		if err := rawjson.Valid(out); err != nil {
			t.Fatalf("put %s into %s gives %s: %v", path, document, out, err)
		}

		p, _ := Compile(path)
		if got, err := p.Evaluate(&Scope{Input: out}); err != nil || string(got) != `{"v":[1]}` {
			t.Fatalf("%s reads %s, %v from %s", path, got, err, out)
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"$",
		"$$.a",
		"$.a['b'][0][*]..c[1:2,3]",
		"$[?(@.a=='x' && !($.b>1) || @.c in ['d'])]",
		"States.Format('a{}\\'', $.x, States.Array(1, true))",
		"States.MathAdd(States.ArrayLength($.a), -1)",
		"States.UUID()",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		e, err := CompileExpression(text)
		if err != nil {
			return
		}

		v, err := e.Evaluate(&Scope{Input: []byte(store), Random: testRandom(), Context: func() []byte { return []byte(`{"a":1}`) }})
		if err == nil && rawjson.Valid(v) != nil {
			t.Fatalf("%q gives %s, which is not JSON", text, v)
		}
	})
}
