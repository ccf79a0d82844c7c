package jsonata

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/recolabs/gnata"
)

// Checks change no value: each expression has the value that it has without them. The expressions have each kind of
// node, and the places at which gnata looks at the types of nodes. The 1,673 cases of the language's own test suite
// gave the same values, but for the limits, when the checks were written.
func TestChecksChangeNoValue(t *testing.T) {
	const document = `{"account":{"name":"A","orders":[{"id":"o1","lines":[{"sku":"a","n":1,"tags":[]},{"sku":"b","n":2,"tags":["x","y"]}]},` +
		`{"id":"o2","lines":[{"sku":"a","n":3,"tags":["x"]}]}]},"empty":[],"nested":[[1,[2]],[3]],"null":null,"n":[3,1,2]}`

	for _, source := range []string{
		`account.orders.lines.sku`, `account.orders.lines.tags`, `account.orders.lines[0].tags`, `account.orders[0].lines[].tags`,
		`account.orders.lines[n>1].sku`, `account.orders.(lines.sku)`, `account.orders.(lines)[0]`, `(account.orders.lines)[0]`, `account.orders.lines[sku="b"].tags[1]`,
		`account.orders.{"id":id,"skus":lines.sku}`, `account.orders.[id, lines.n]`, `account.orders.lines.[sku][]`, `$.[n, empty]`,
		`account.orders.lines{sku: n}`, `account.orders.lines{sku: $sum(n)}`, `account.orders{id: lines{sku: n}}`, `[account.orders.lines]{sku: $}`,
		`account.orders.lines^(>n).sku`, `account.orders^(id).lines^(n, >sku)`, `n^($)`, `account.orders.lines^(%.id).sku`,
		`account.orders.lines.{"o":%.id,"s":sku}`, `account.orders.lines.tags.(%.%.id)`, `(account.orders.lines)[%.id="o1"].sku`,
		`account.orders#$i.lines.{"i":$i,"s":sku}`, `account.orders.lines#$i[n>1].($i & sku)`, `account.orders@$o.lines@$l[$l.n>1].{"o":$o.id,"l":$l.sku}`,
		`account.orders.lines#$i{sku: $i}`, `account.(orders.lines).{"o":%.id}`, `account.orders.(id & "-" & $string(lines.n))`,
		`account.*`, `account.orders.*`, `account.**.sku`, `**.n`, `$count(**)`, `account.orders.lines.**`, `account.orders.(lines.**)`, `account.orders.(lines).*`,
		`nested.$`, `nested.[$]`, `nested.($count($))`, `[nested, n]`, `[[nested], [n]]`, `[1..5]`, `[1..3, 7..9]`, `[5..1]`, `n.[1..$]`, `$x := [1..3]; $x`,
		`empty`, `empty.a`, `$exists(account.orders.lines[1].tags.a)`, `$exists(account.orders.lines[0].tags)`, `null`, `null & ""`, `none & "x"`, `empty & n`,
		`n = [3,1,2]`, `account = {}`, `"x" in account.orders.lines.tags`, `3 in n`, `account.orders[0] != account.orders[1]`,
		`account ~> |orders|{"id":"new"},["lines"]|`, `account ~> |orders.lines|{"m":n*2}|`, `($t := |orders|{"x":1}|; $t(account))`, `$map([account], |orders|{}|)`,
		`account.orders.lines.n ~> $sum()`, `n ~> $map(function($v){ [$v, $v] })`, `($f := $map(?, function($v){ {"v":$v} }); $f(n))`, `($u := $uppercase ~> $trim; $u(account.name))`,
		`$map(account.orders, function($o, $i){ {"i":$i,"l":$count($o.lines)} })`, `$reduce(n, function($a, $v){ $append($a, $v) }, [])`, `$merge(account.orders.lines)`,
		`$spread(account)`, `$zip(n, n)`, `$sift(account, function($v){ $v = "A" })`, `$each(account, function($v, $k){ $k })`, `$distinct(account.orders.lines.sku)`,
		`$split("a,b", ",")`, `$split("a1b22c", /[0-9]+/)`, `$replace("abc", /b/, "x")`, `$contains("abc", /b/)`, `"abc" ~> /b/`, `"abc".$contains("b")`,
		`($f := function($n){ $n = 0 ? "" : $f($n - 1) & $n }; $f(9))`, `($f := function($n, $a){ $n = 0 ? $a : $f($n - 1, $append($a, {"n":$n})) }; $f(50, []))`,
		`account ? 1 : 2`, `account.orders[lines]`, `account.orders[[0,1]].id`, `account.orders[-1].id`, `n[$ > 1][0]`, `(n)[$ > 1][]`, `account.orders.lines[][0].sku`,
		`-n[0]`, `"a" + 1`, `[1.5..2]`, `["a"..2]`, `account.(a ?: b ?? c)`, `account.orders.lines.(n > 1 and sku = "b")`, `$.account.name.{"x":$}`, "account.`name`", `account."name"`,
	} {
		var values [2]string
		for i, with := range []bool{false, true} {
			program, err := gnata.Compile("(" + source + ")")
			if err != nil {
				t.Fatal(source, err)
			}

			if with {
				plant(program)
			}

			input, _ := decode([]byte(document))
			v, err := program.EvalWithVars(t.Context(), input, maps.Clone(library().planted()))

			text, failed := encode(v)
			if err != nil {
				text = []byte(evaluatorText(err))
			}

			values[i] = fmt.Sprint(v == nil, string(text), failed)
		}

		if values[0] != values[1] {
			t.Errorf("%s\nwithout checks %s\nwith them      %s", source, values[0], values[1])
		}
	}
}

func evaluatorText(err error) string {
	text, _ := evaluatorMessage(err)

	return text
}

// A value that is small in memory and large to read ends an evaluation where it is made: no node goes on after the
// time of the evaluation, and none allocates without a bound.
func TestNoNodeReadsWithoutABound(t *testing.T) {
	const input = `{"a":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}`

	doubled := func(kind, leaf string) string {
		return `($f := function($x, $n){ $n = 0 ? $x : $f(` + kind + `, $n - 1) }; $f(` + leaf + `, 60))`
	}
	objects, arrays := doubled(`{"a":$x,"b":$x}`, "1"), doubled(`[[$x],[$x]]`, "false")
	steps := "{" + `"a":1}` + strings.Repeat(`.{"a":$,"b":$}`, 60)
	shared := `$map([1..9000], function(){ $big })`

	for name, source := range map[string]string{
		"the text of objects": objects + ` & ""`, "objects compared": objects + " = " + objects, "one in another": objects + " in [" + objects + "]",
		"arrays as a condition": arrays + " ? 1 : 2", "arrays in a filter": "[1,2][" + arrays + "]", "both": arrays + " and 1", "sorted": "[" + objects + "]^(a)",
		"all below": "$count(" + objects + ".**)", "flat": "$flatten(" + arrays + ")", "distinct": "$distinct([" + objects + "," + objects + "])", "copied": objects + " ~> |$|{}|",
		"objects of steps": "$string(" + steps + ")", "objects of parents": `$string(` + doubled(`({"p":{"q":$x}}.p.q.{"a":%,"b":%})`, `{"z":1}`) + `)`,
		"groups":                  `($g := ` + doubled(`[$x,2]{$string($count($)): $x, "k" & $string($count($)): $x}`, "1") + `; $string($g))`,
		"a name in shared arrays": "$count(" + shared + ".a)", "members of shared arrays": "$count(" + shared + ".*)", "a name in steps": "$count([1..9000].($big).a)",
		"steps with places": "$count([1..9000]#$i.($big).a)", "spread": "$spread([1..9000].($big))",
		"an object in itself": `($states.input ~> |$|{"self":$}|) & ""`, "one in another that is in it": `($states.input ~> |[$r := $, o]|{"r":$r}|) & ""`,
		"a deep value": `$reduce([1..9000], function($a, $v){ {"a":$a} }) & ""`, "a range": `$count([1..9999999])`, "an infinite range": `[1..1/0]`,
		"parts of a text": `($f := function($t){ $length($t) > 900000 ? $t : $f($t & $t) }; $count($split($f("ab"), "")))`,
		"a large pattern": `($f := function($t){ $length($t) > 200000 ? $t : $f($t & $t) }; $contains($f("ab"), /((a|b)*c){900}/))`,
	} {
		e, err := Compile(`($big := {"a":[1..9000]}; `+source+`)`, 0)
		if err != nil {
			t.Fatal(name, err)
		}

		s := testScope()
		s.Input = []byte(input)

		limits := newBudget(t.Context(), time.Now().Add(time.Hour))

		bindings, err := e.bindings(s)
		if err != nil {
			t.Fatal(err)
		}

		// The evaluation runs here and not in a goroutine that Evaluate would leave: a node without an end hangs the test.
		v, err := e.call(bindings, limits)
		if !errors.Is(err, errMemory) && !errors.Is(err, errTime) {
			t.Errorf("%s: %.60s %v", name, v, err)
		}
	}
}
