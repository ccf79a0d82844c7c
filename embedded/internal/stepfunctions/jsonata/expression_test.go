package jsonata

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// testScope is the same each time, its random values included.
func testScope() *Scope {
	return &Scope{
		Input:   []byte(`{"a":[3,1,2],"o":{"z":1,"b":null},"n":9007199254740993,"f":1.50}`),
		Context: func() []byte { return []byte(`{"Execution":{"Name":"run"}}`) },
		Variable: func(name string) ([]byte, bool) {
			return []byte(`{"q":[1]}`), name == "v"
		},
		Now:    1_700_000_000_123,
		Random: rand.New(rand.NewPCG(1, 2)),
	}
}

// outcome is the value of an expression in the field F, or its error.
func outcome(t *testing.T, source string) string {
	t.Helper()

	e, err := Compile(source, 0)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}

	v, err := e.Evaluate(testScope(), "F")
	if err != nil {
		sentence := fmt.Sprintf("The JSONata expression '%s' specified for the field 'F' ", source)
		return strings.TrimPrefix(err.Error(), sentence)
	}

	return string(v)
}

func TestEvaluate(t *testing.T) {
	for _, row := range []struct{ source, want string }{
		{source: `$states.input`, want: `{"a":[3,1,2],"o":{"z":1,"b":null},"n":9007199254740993,"f":1.5}`},
		{source: `$states.input.o.b`, want: `null`},
		{source: `$states.context.Execution.Name`, want: `"run"`},
		{source: `$states`, want: `{"input":{"a":[3,1,2],"o":{"z":1,"b":null},"n":9007199254740993,"f":1.5},"context":{"Execution":{"Name":"run"}}}`},
		{source: `$v.q[0]`, want: `1`},
		{source: `$none`, want: `returned nothing (undefined).`},
		{source: `{"b":1,"a":$none}`, want: `{"b":1}`},
		{source: `[$none, 1]`, want: `[1]`},
		{source: `$sort($states.input.a)`, want: `[1,2,3]`},
		{source: `0.1+0.2`, want: `0.30000000000000004`},
		{source: `[1e-7, 1e21, 123456789012, -0.5, 0 * -1]`, want: `[1e-7,1e+21,123456789012,-0.5,0]`},
		{source: `[1/0, -1/0, 0/0]`, want: `["Infinity","-Infinity","NaN"]`},
		{source: `$now()`, want: `"2023-11-14T22:13:20.123Z"`},
		{source: `$now("[Y]-[M01]")`, want: `"2023-11"`},
		{source: `$millis()`, want: `1700000000123`},
		{source: `[$random() = $random(), $length($uuid())]`, want: `[false,36]`},
		{source: `$partition([], 2)`, want: `returned nothing (undefined).`},
		{source: `$partition([1], 0)`, want: `returned nothing (undefined).`},
		{source: `$partition([1,2,3], 2.9)`, want: `[[1,2],[3]]`},
		{source: `$partition($states.input.o, 2)`, want: `[[{"z":1,"b":null}]]`},
		{source: `$partition([1], "x")`, want: `threw an error during evaluation. T0410: Argument 2 of function "partition" does not match function signature`},
		{source: `$range(3, 1, -1)`, want: `[3,2,1]`},
		{source: `$range(1, 3, -1)`, want: `returned nothing (undefined).`},
		{source: `$range(1, 3, 0)`, want: `returned nothing (undefined).`},
		{source: `$range(1, 3)`, want: `returned nothing (undefined).`},
		{source: `$range(-9e18, 9e18, 9e18)`, want: `[-9000000000000000000,0,9000000000000000000]`},
		{source: `$hash("input", "MD5")`, want: `"a43c1b0aa53a0c908810c06ab1ff3967"`},
		{source: `$hash("input", "sha-1")`, want: `threw an error during evaluation: the second argument of the hash function must be one of MD5, SHA-1, SHA-256, SHA-384, SHA-512`},
		{source: `$hash("input")`, want: `returned nothing (undefined).`},
		{source: `$parse("{")`, want: `threw an error during evaluation: the argument of the parse function must be JSON: unexpected end of JSON text at offset 1`},
		{source: `$parse($none)`, want: `returned nothing (undefined).`},
		{source: `"a" + 1`, want: `threw an error during evaluation. T2001: The left side of the "+" operator must evaluate to a number`},
		{source: `$error("boom")`, want: `threw an error during evaluation. D3137: boom`},
		{source: `{"f": function($x){$x}}`, want: `returned an unsupported result type.`},
		{source: `$sum`, want: `returned an unsupported result type.`},
		{source: `$formatInteger(0/0, "w")`, want: `threw an error during evaluation: the first argument of the formatInteger function must not be NaN`},
		{source: `$formatInteger(-9223372036854775808, "w")`, want: `"minus nine million, two hundred and twenty-three thousand, three hundred and seventy-two trillion"`},
		{source: `$formatBase(255, 16)`, want: `"ff"`},
		{source: `1e308 ~> $formatBase(2)`, want: `threw an error during evaluation: the number 1e+308 is not an integer of 64 bits`},
		{source: `$match("a.b", ".")`, want: `threw an error during evaluation. T0410: Argument 2 of function "match" does not match function signature`},
		{source: `$match("😀ababbxB", /A(b+)(x)?/i)`, want: `[{"groups":["b",""],"index":2,"match":"ab"},{"groups":["bb","x"],"index":4,"match":"abbx"}]`},
		{source: `$match("aaa", /a/, 1).index`, want: `0`},
		{source: `$match("aaa", /a/, 0)`, want: `returned nothing (undefined).`},
		{source: `$match("aaa", /a/, -1)`, want: `threw an error during evaluation. D3040: Third argument of match function must evaluate to a positive number`},
		{source: `$match("aaa", /b*/)`, want: `threw an error during evaluation. D1004: Regular expression matches zero length string`},
		{source: `$match($none, /a/)`, want: `returned nothing (undefined).`},
		{source: `($t := $join($map([1..25000], function(){ "aaaaaaaaaa" })); $count($match($t, /a/)))`, want: `250000`},
		{source: `$parse("[1e400,-1e400,-0]")`, want: `["Infinity","-Infinity",0]`},
		{source: `$eval("1")`, want: `threw an error during evaluation. T1006: Attempted to invoke a non-function`},
	} {
		got := outcome(t, row.source)
		if !strings.HasPrefix(got, row.want) || rawjson.Valid([]byte(got)) == nil && got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.source, got, row.want)
		}
	}
}

// The same scope gives the same value, random values included.
func TestTheSameScopeGivesTheSameValue(t *testing.T) {
	const source = `[$random(), $uuid(), $shuffle([1..100]), $now(), $millis()]`
	if a, b := outcome(t, source), outcome(t, source); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// gnata's parser makes the syntax trees that the analysis expects. This fails when another version of the
// library has another tree.
func TestSyntaxTree(t *testing.T) {
	for _, row := range []struct {
		source                        string
		references, states, variables string
		depth                         int
	}{
		{source: `a.b`, references: "a", depth: 2},
		{source: `a[b]`, references: "a", depth: 2},
		{source: `$x[b].c^(d){e: f}`, variables: "x", depth: 3},
		{source: `(a; $.b)`, references: "a $", depth: 3},
		{source: `$x.($$)`, references: "$$", variables: "x", depth: 3},
		{source: `{a: b}`, references: "a b", depth: 2},
		{source: `[a, -b, c ? d : e]`, references: "a b c d e", depth: 3},
		{source: `$sum(a) ~> $f(b, ?)`, references: "a b", variables: "f", depth: 3},
		{source: `function($p){ $p + q }`, references: "q", depth: 3},
		{source: `($y := $x; $y)`, variables: "x", depth: 3},
		{source: `$x@$i#$j.($i + $j)`, variables: "x", depth: 4},
		{source: `$x ~> |a|{"b": c}, ["d"]|`, variables: "x", depth: 4},
		{source: `$states.input.a & $states.result[0]`, states: "input result", depth: 3},
		{source: `$states.context.a[$states.input.b = c]`, states: "context input", depth: 4},
		{source: `((1))`, depth: 3},
		{source: `1+1+1`, depth: 3},
	} {
		program, err := parse(row.source)
		if err != nil {
			t.Fatal(row.source, err)
		}

		a := analyze(program)
		join := func(names []string) string { return strings.Join(names, " ") }

		if join(a.references) != row.references || join(a.states) != row.states || join(a.variables) != row.variables || a.depth != row.depth {
			t.Errorf("%s: references %q, states %q, variables %q, depth %d", row.source, join(a.references), join(a.states), join(a.variables), a.depth)
		}
	}
}

// Expressions that never end, or that make more and more, end with an error.
func TestLimits(t *testing.T) {
	// On a slow machine, time may end before memory does.
	const grows = "Expression evaluation"
	doubling := strings.Repeat("$s := $s & $s; ", 40)

	for _, row := range []struct{ is, source, want string }{
		{is: "a loop", source: `($f := function($n){ $f($n + 1) }; $f(1))`, want: errTime.Error()},
		{is: "a recursion", source: `($f := function($n){ 1 + $f($n + 1) }; $f(1))`, want: "U1001"},
		{is: "a deep expression", source: strings.Repeat("1+", 100) + "1", want: errDepth.Error()},
		{is: "a growing text", source: `($s := "aaaaaaaa"; ` + doubling + `$length($s))`, want: grows},
		{is: "a growing text in a loop", source: `($f := function($s){ $f($s & $s) }; $f("aaaaaaaa"))`, want: grows},
		{is: "a value inside of itself", source: `($f := function($x, $n){ $n = 0 ? $x : $f({"a":$x,"b":$x}, $n - 1) }; $f(1, 40))`, want: errMemory.Error()},
		{is: "the text of such a value", source: `($f := function($x, $n){ $n = 0 ? $x : $f({"a":$x,"b":$x}, $n - 1) }; $string($f(1, 40)))`, want: errMemory.Error()},
		{is: "a large sequence", source: `[1..873783]`, want: errMemory.Error()},
		{is: "a large $range", source: `$range(1, 360146, 1)`, want: errMemory.Error()},
		{is: "a $join", source: `($t := $pad("", 9999); $join($map([1..9999], function(){ $t }), $t))`, want: errMemory.Error()},
		{is: "a $replace", source: `($t := $pad("", 9999, "a"); $replace($t, "a", $t))`, want: errMemory.Error()},
		{is: "a Roman number", source: `$formatInteger(1e15, "I")`, want: errMemory.Error()},
		{is: "a wide year", source: `$fromMillis(0, "[Y,99999999999]")`, want: errMemory.Error()},
	} {
		if got := outcome(t, row.source); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s", row.is, got)
		}
	}

	accepted := strings.Repeat("1+", 99) + "1"
	if got := outcome(t, accepted); got != "100" {
		t.Errorf("100 terms: %s", got)
	}
}

// A panic in the evaluation is an error, also of a caller's other evaluations' functions.
func TestPanicsAreErrors(t *testing.T) {
	e, err := Compile(`$sum([1])`, 0)
	if err != nil {
		t.Fatal(err)
	}

	bindings, err := e.bindings(testScope())
	if err != nil {
		t.Fatal(err)
	}

	bindings["sum"] = library().wrap(func([]any, any) (any, error) { panic("lost") })
	if v, err := e.call(bindings, newBudget(t.Context(), time.Now().Add(time.Minute))); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%s %v", v, err)
	}
}

func TestUnwrap(t *testing.T) {
	for text, want := range map[string]string{
		"{% $a %}": "$a", "{%$a%}": "$a", "{%%}": "", "{% %}": "", "{%}": "-", " {% $a %}": "-", "{% $a": "-", "": "-", "$a": "-",
	} {
		source, ok := Unwrap(text)
		if !ok {
			source = "-"
		}

		if source != want {
			t.Errorf("%q: %q", text, source)
		}
	}
}

func TestTemplateFaults(t *testing.T) {
	_, faults := CompileTemplate([]byte(`{"a":["{% 1 %}","{% ( %}"],"b":{"c":"{% x %}"},"b":1}`), 0)

	var places []string
	for _, f := range faults {
		places = append(places, f.At)
	}

	if want := []string{"/a[1]", "/b/c", ""}; !slices.Equal(places, want) {
		t.Errorf("%q", places)
	}
}

// A template ends where no document may be longer.
func TestATemplateIsBounded(t *testing.T) {
	template, faults := CompileTemplate([]byte("["+strings.Repeat(`"{% $states.input %}",`, 100)+"1]"), 0)
	if faults != nil {
		t.Fatal(faults)
	}

	v, err := template.Evaluate(&Scope{Input: []byte(`"` + strings.Repeat("x", 250_000) + `"`)}, "Output")
	if err != nil || len(v) < maxValue || len(v) > maxValue+500_000 {
		t.Errorf("%d bytes, %v", len(v), err)
	}
}

// No text ends the process, hangs, or gives what is not JSON.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`$states.input.a[$ > 1]`, `$map($states.input.a, function($v, $i){ $v * $i }) ~> $sum()`,
		`($f := function($n){ $n < 1 ? 1 : $n * $f($n - 1) }; $f(10))`, `$states.input ~> |o|{"x":1},["z"]|`,
		`$now("[Y]") & $uuid() & $random(1)`, `$partition([1..10], 3)`, `$replace("ab", /(a)/, "$1$1")`,
		`$states.input.a^(>$).{"v":$}`, "`a`.%.b", `{"a":1}{a: $}`, `$formatNumber(1.5, "#,##0.00")`, `$toMillis("2020", "[Y]")`,
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, source string) {
		e, err := Compile(source, Result|ErrorOutput)
		if err != nil {
			var c *CompileError
			if !errors.As(err, &c) || c.Message == "" {
				t.Fatalf("%q: %v", source, err)
			}

			return
		}

		s := testScope()
		s.deadline = time.Now().Add(10 * time.Millisecond)

		v, err := e.Evaluate(s, "F")
		var failed *EvaluationError
		switch {
		case err == nil && rawjson.Valid(v) != nil:
			t.Fatalf("%q gives %s, which is not JSON", source, v)
		case err != nil && !errors.As(err, &failed):
			t.Fatalf("%q: %v", source, err)
		}
	})
}
