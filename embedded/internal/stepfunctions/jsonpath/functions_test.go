package jsonpath

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func testRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

const functionInput = `{"name":"Ann","n":41,"half":1.5,"list":[1,2,3,3,"a",{"k":[1]},{"k":[1.0]}],` +
	`"text":"{\"x\":1}","brace":"{}","o1":{"a":1,"b":{"x":1}},"o2":{"b":2,"c":3}}`

// The rows include the examples of the AWS documentation.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
func TestFunctions(t *testing.T) {
	for _, row := range []struct{ call, want string }{
		{call: `States.Format('Hello, my name is {}.', $.name)`, want: `"Hello, my name is Ann."`},
		{
			call: `States.Format('\'{}\' \{\} \\ {} {}', $.n, $.o1, null)`,
			want: `"'41' {} \\ {a=1, b={x=1}} null"`,
		},
		{call: `States.Format($.brace, 'x')`, want: `"x"`},
		{call: `States.StringToJson($.text)`, want: `{"x":1}`},
		{call: `States.JsonToString($.o1)`, want: `"{\"a\":1,\"b\":{\"x\":1}}"`},
		{call: `States.Array($.n, 'x', true, null, 1.50, States.Array())`, want: `[41,"x",true,null,1.50,[]]`},
		{call: `States.ArrayPartition($.list, 4)`, want: `[[1,2,3,3],["a",{"k":[1]},{"k":[1.0]}]]`},
		{call: `States.ArrayContains($.list, 'a')`, want: `true`},
		{call: `States.ArrayContains($.list, 2.0)`, want: `true`},
		{call: `States.ArrayContains($.list, 'b')`, want: `false`},
		{call: `States.ArrayRange(1, 9, 2)`, want: `[1,3,5,7,9]`},
		{call: `States.ArrayRange(3, 1, -1)`, want: `[3,2,1]`},
		{call: `States.ArrayRange(3, 1, 1)`, want: `[]`},
		{call: `States.ArrayGetItem($.list, 4)`, want: `"a"`},
		{call: `States.ArrayLength($.list)`, want: `7`},
		{call: `States.ArrayUnique($.list)`, want: `[1,2,3,"a",{"k":[1]}]`},
		{call: `States.Base64Encode('Data to encode')`, want: `"RGF0YSB0byBlbmNvZGU="`},
		{call: `States.Base64Decode('RGVjb2RlZCBkYXRh')`, want: `"Decoded data"`},
		{call: `States.Hash('input data', 'SHA-1')`, want: `"aaff4a450a104cd177d28d18d74485e8cae074b7"`},
		{call: `States.Hash('', 'MD5')`, want: `"d41d8cd98f00b204e9800998ecf8427e"`},
		{call: `States.JsonMerge($.o1, $.o2, false)`, want: `{"a":1,"b":2,"c":3}`},
		{call: `States.MathAdd($.n, 1)`, want: `42`},
		{call: `States.MathAdd(9007199254740993, -1)`, want: `9007199254740992`},
		{call: `States.MathAdd(1.5, 1)`, want: `3`},
		// Source: LocalStack's recordings of AWS, intrinsic_functions, test_math_add and test_format_2.
		{call: `States.MathAdd(-1.5, 0)`, want: `-1`},
		{call: `States.MathAdd(-1.5, -1.51)`, want: `-3`},
		{call: `States.MathAdd(-0.5, 0.5)`, want: `1`},
		{call: `States.MathAdd(0.49999999999999994, 0)`, want: `0`},
		{call: `States.Format('fst={}.', States.StringToJson('{"Arg1": 1, "Arg2": []}'))`, want: `"fst={Arg1=1, Arg2=[]}."`},
		{call: `States.Format('{}', States.StringToJson('{"a": {}, "b": "c"}'))`, want: `"{a={}, b=c}"`},
		{call: `States.StringSplit('1,2,3,4,5', ',')`, want: `["1","2","3","4","5"]`},
		{call: `States.StringSplit('This.is+a,test=string', '.+,=')`, want: `["This","is","a","test","string"]`},
		{call: `States.ArrayGetItem(States.StringSplit($.name, 'n'), 0)`, want: `"A"`},
	} {
		e, err := CompileExpression(row.call)
		if err != nil {
			t.Errorf("%s: %v", row.call, err)
			continue
		}

		got, err := e.Evaluate(&Scope{Input: []byte(functionInput), Random: testRandom()})
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v; want %s", row.call, got, err, row.want)
		}
	}
}

// 40,000 different items take no minutes.
func TestUniqueItemsOfALongArray(t *testing.T) {
	var list strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&list, ",%d,%d.0", 10_000+i, 10_000+i)
	}

	e, err := CompileExpression(`States.ArrayLength(States.ArrayUnique($))`)
	if err != nil {
		t.Fatal(err)
	}

	got, err := e.Evaluate(&Scope{Input: []byte("[0" + list.String() + "]")})
	if err != nil || string(got) != "40001" {
		t.Errorf("%s, %v", got, err)
	}
}

// What a definition multiplies without end stays in memory: arguments of a function are refused, and a
// template ends where no document may be longer.
func TestResultsAreBounded(t *testing.T) {
	input := []byte(`{"a":"` + strings.Repeat("x", 250_000) + `"}`)

	e, err := CompileExpression("States.Array($.a" + strings.Repeat(",$.a", 1000) + ")")
	if err != nil {
		t.Fatal(err)
	}

	var failed *IntrinsicError
	if v, err := e.Evaluate(&Scope{Input: input}); !errors.As(err, &failed) {
		t.Errorf("%d bytes, %v", len(v), err)
	}

	for _, template := range []string{
		"[" + strings.Repeat(`{"a.$":"$.a"},`, 1000) + "1]",
		strings.Repeat(`{"a.$":"$.a","b":`, 400) + "1" + strings.Repeat("}", 400),
	} {
		tpl, err := CompileTemplate([]byte(template))
		if err != nil {
			t.Fatal(err)
		}

		if v, err := tpl.Evaluate(&Scope{Input: input}); err != nil || len(v) < maxResult || len(v) > maxResult+1<<20 {
			t.Errorf("%.20s: %d bytes, %v", template, len(v), err)
		}
	}
}

func TestFunctionsRefuse(t *testing.T) {
	for _, call := range []string{
		`States.Format('{}')`, `States.Format('x', 1)`, `States.Format('}', 1)`, `States.Format($.n)`, `States.StringToJson('{')`,
		`States.ArrayPartition($.list, 0)`, `States.ArrayPartition($.n, 1)`, `States.ArrayRange(1, 2, 0)`, `States.ArrayRange(1, 1001, 1)`,
		`States.ArrayGetItem($.list, 7)`, `States.ArrayGetItem($.list, -1)`, `States.ArrayLength($.o1)`, `States.Base64Decode('%')`,
		`States.Hash('x', 'SHA-2')`, `States.JsonMerge($.o1, $.o2, true)`, `States.JsonMerge($.o1, $.n, false)`, `States.MathRandom(2, 2)`,
		`States.MathAdd('1', 1)`, `States.MathAdd(9223372036854775807, 1)`, `States.StringSplit(1, ',')`, `States.MathAdd($.missing, 1)`,
	} {
		e, err := CompileExpression(call)
		if err != nil {
			t.Errorf("%s does not compile: %v", call, err)
			continue
		}

		if got, err := e.Evaluate(&Scope{Input: []byte(functionInput), Random: testRandom()}); err == nil {
			t.Errorf("%s gives %s", call, got)
		}
	}

	for _, call := range []string{
		`States.Format()`,
		`States.UUID(1)`,
		`States.MathAdd(1)`,
		`States.Array(1`,
		`States.Array(x)`,
		`States.Array('x)`,
		`States.Foo(1)`,
		strings.Repeat("States.Array(", 11) + strings.Repeat(")", 11),
	} {
		if _, err := CompileExpression(call); err == nil {
			t.Errorf("%s compiles", call)
		}
	}
}

func TestRandomFunctions(t *testing.T) {
	e, err := CompileExpression(`States.Format('{}|{}|{}', States.UUID(), States.MathRandom(1, 4), States.MathRandom(1, 1000, 7))`)
	if err != nil {
		t.Fatal(err)
	}

	form := regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\|[1-3]\|(\d+)"$`)
	random, seeded := testRandom(), ""
	for range 1000 {
		v, err := e.Evaluate(&Scope{Random: random})
		m := form.FindStringSubmatch(string(v))
		if err != nil || m == nil || seeded != "" && seeded != m[1] {
			t.Fatalf("%s, %v; seeded before: %s", v, err, seeded)
		}
		seeded = m[1]
	}
}

func TestTemplates(t *testing.T) {
	for _, row := range []struct{ template, want string }{
		{
			template: `{"a":1, "b":{"c.$":"$.n"}, "d":[{"e.$":"$$.x"}, 2]}`,
			want:     `{"a":1,"b":{"c":41},"d":[{"e":"ctx"},2]}`,
		},
		{template: `{ "a" : [ 1 , "b.$" ] }`, want: `{"a":[1,"b.$"]}`},
		{template: `5`, want: `5`},
		{template: `{"x.$":"States.MathAdd($.n, 1)","$":"y"}`, want: `{"x":42,"$":"y"}`},
	} {
		tpl, err := CompileTemplate([]byte(row.template))
		if err != nil {
			t.Errorf("%s: %v", row.template, err)
			continue
		}

		got, err := tpl.Evaluate(&Scope{Input: []byte(functionInput), Context: func() []byte { return []byte(`{"x":"ctx"}`) }})
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v; want %s", row.template, got, err, row.want)
		}
	}

	for _, bad := range []string{`{"a.$":1}`, `{"a.$":"x"}`, `{"a":1,"a.$":"$"}`, `{"a.$":"$."}`, `{"a":[{"b.$":"no"}]}`} {
		if _, err := CompileTemplate([]byte(bad)); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
}
