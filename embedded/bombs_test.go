package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	flagBombs    = flag.Int("bombs", 2, "how many expressions of each kind the test of bombs generates")
	flagBombSeed = flag.Uint64("bombseed", 1, "the seed of the first generated bomb")
)

const (
	// A bomb ends by the deadline of an evaluation, 5 s, which is by the clock: other work of the machine
	// takes part of it. Without a deadline each of the larger ones would take hours.
	bombTime = 30 * time.Second
	bombSize = 1 << 30 // bytes that the process may hold: all memory of Go's, garbage too, without what is given back
)

// bomber makes expressions that are small and want much.
type bomber struct{ *rand.Rand }

func (b bomber) pick(texts ...string) string { return texts[b.IntN(len(texts))] }

// repeat repeats a text up to n times, so often that a definition stays as short as one may be.
func (b bomber) repeat(text string, n int) string {
	const most = 20_000

	return strings.Repeat(text, min(b.IntN(n)+1, most/len(text)))
}

// document returns the input of an execution, nearly as large as it may be.
func (b bomber) document() string {
	const size = 250_000

	var out strings.Builder
	switch b.IntN(4) {
	case 0: // many small objects
		out.WriteString(`{"s":"abc","a":[{"b":0}`)

		for i := 1; out.Len() < size; i++ {
			fmt.Fprintf(&out, `,{"b":%d}`, i)
		}

		out.WriteString("]}")
	case 1: // a deep one around a long text
		const depth = 450
		out.WriteString(`{"s":"x","a":` + strings.Repeat(`{"a":`, depth) + `"` + strings.Repeat("x", size-3000) + `"` + strings.Repeat("}", depth) + "}")
	case 2: // one long text of separators, and as many numbers
		half := size / 2
		out.WriteString(`{"s":"` + strings.Repeat("a,", half/2) + `","a":[1` + strings.Repeat(",1", half/2-10) + "]}")
	default: // an object with many members
		out.WriteString(`{"s":"k1","a":{"b":1`)

		for i := 0; out.Len() < size; i++ {
			fmt.Fprintf(&out, `,"k%d":%d`, i, i)
		}

		out.WriteString("}}")
	}

	return out.String()
}

func (b bomber) filter(depth int) string {
	left := b.pick("@", "@.b", "$.a[16999].b", "$..b", "$", "@..*", "$.a", "$.s")

	if depth > 0 && b.IntN(2) == 0 {
		left = b.pick("$.a", "@", "$..a") + "[?(" + b.filter(depth-1) + ")]"
	}

	one := left + " " + b.pick("==", "!=", "<", "in") + " " + b.pick("$.a[16999].b", "@.b", "$.a", "$", "$..b", "7")
	switch b.IntN(4) {
	case 0:
		return "!(" + one + ")"
	case 1:
		return b.repeat(one+" || ", 200) + "1==2"
	}

	return one
}

func (b bomber) path() string {
	path := "$"
	for range 1 + b.IntN(4) {
		path += b.pick(".a", "..a", "..*", "[*]", ".*", "[?("+b.filter(3)+")]", "[?("+b.filter(3)+")]", "[*][*]", "[?(@.s =~ /((a+)+)+$/)]", strings.Repeat("[?(@", 50)+strings.Repeat(")]", 50),
			"."+strings.Repeat("a.", 2000)+"a", "[0:100000:1]",
			"['a'"+b.repeat(",'a','q'", 2000)+"]", "["+b.repeat("-1,", 2000)+"0]", "[-100000:]")
	}

	if strings.Count(path, "..") > 3 {
		return "$..a..a..*"
	}

	return path
}

func (b bomber) call(depth int) string {
	arg := func() string {
		if depth > 0 && b.IntN(3) > 0 {
			return b.call(depth - 1)
		}

		return b.pick("$.a", "$.s", "$", "$$", "$..a", "$..*", "$.a[*]", "$.v")
	}

	switch b.IntN(12) {
	case 0:
		return "States.ArrayContains(" + arg() + ", " + arg() + ")"
	case 1:
		return "States.ArrayUnique(" + arg() + ")"
	case 2:
		return "States.ArrayPartition(" + arg() + ", 1)"
	case 3:
		return "States.StringSplit(" + arg() + ", " + arg() + ")"
	case 4:
		return "States.JsonMerge(" + arg() + ", " + arg() + ", false)"
	case 5:
		args := b.repeat(", "+arg(), 50)

		return "States.Format('" + strings.Repeat("{}", strings.Count(args, ", ")) + "'" + args + ")"
	case 6:
		return "States.JsonToString(" + arg() + ")"
	case 7:
		return "States.StringToJson(" + arg() + ")"
	case 8: // a text or a list that doubles
		one := arg()
		return b.pick("States.Format('{}{}', "+one+", "+one+")", "States.Array("+one+", "+one+")")
	case 9:
		return b.pick("States.Base64Encode(", "States.Base64Decode(", "States.Hash(") + arg() + b.pick(")", ", 'SHA-512')")
	case 10:
		return "States.ArrayLength(States.ArrayRange(1, 1000, 1))"
	}

	return "States.Array(" + b.repeat(arg()+", ", 60) + arg() + ")"
}

// state returns a request to test a state.
func (b bomber) state(state map[string]any) (string, string) {
	definition, _ := json.Marshal(state)
	request, _ := json.Marshal(map[string]any{
		"definition": string(definition), "input": b.document(), "roleArn": "arn:aws:iam::000000000000:role/x",
	})

	return "AWSStepFunctions.TestState", string(request)
}

func (b bomber) jsonPath() (string, string) {
	switch b.IntN(3) {
	case 0:
		return b.state(map[string]any{"Type": "Pass", "InputPath": b.path(), "End": true})
	case 1:
		var rules []any
		for range 1 + b.IntN(50) {
			rules = append(rules, map[string]any{"Variable": b.path(), "IsPresent": b.IntN(2) == 0, "Next": "N"})
		}

		return b.state(map[string]any{"Type": "Choice", "Choices": rules, "Default": "N"})
	}

	fields := map[string]any{}
	for i := range 1 + b.IntN(50) {
		fields[fmt.Sprintf("f%d.$", i)] = b.path()
	}

	return b.state(map[string]any{"Type": "Pass", "Parameters": fields, "End": true})
}

func (b bomber) intrinsic() (string, string) {
	fields := map[string]any{}
	for i := range 1 + b.IntN(50) {
		fields[fmt.Sprintf("f%d.$", i)] = b.call(b.IntN(8))
	}

	return b.state(map[string]any{"Type": "Pass", "Parameters": fields, "End": true})
}

func (b bomber) query(depth int) string {
	if depth == 0 {
		return b.pick("$states.input.a", "$states.input.**", "[1..100000]", "$states.input.s", "$keys($states.input.a)")
	}

	in := b.query(depth - 1)

	return b.pick(
		"$map("+in+", function($v){ "+b.query(depth-1)+" })",
		"$reduce("+in+", function($a, $v){ $append($a, "+b.query(depth-1)+") })",
		"$filter("+in+", function($v){ $count("+b.query(depth-1)+") > 3 })",
		"$sort("+in+", function($x, $y){ $string("+b.query(depth-1)+") > 'x' })",
		"($f := function($n){ $f($n & $n) }; $f($string("+in+")))",
		"($f := function($n){ $n > 1e9 ? $n : $f($n + 1) }; $f(1))",
		"$join($map([1..99999], function($v){ $string("+in+") }))",
		"$replace($string("+in+"), /(a*)*b/, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')",
		"$distinct("+in+".("+b.query(depth-1)+"))",
		in+"["+b.query(depth-1)+" = $]",
		in+".%.("+b.query(depth-1)+")",
		in+"{$string($): "+b.query(depth-1)+"}",
		"$pad($string("+in+"), 999999999)",
		"$formatInteger(1e15, 'I')",
		"$split($string("+in+"), '')",
		"$zip("+in+", "+in+")",
		"$sort("+in+", function($x, $y){ true })", // never sorted
		"$sort([1..9999], function($x, $y){ $count("+in+") > $random() })",
		"$count([1..9999999]["+in+" = $])",
		"($g := function($n){ 1 + $g($n + 1) }; $g(1))", // no tail call
		"($g := function($n){ $h($n) & 'x' }; $h := function($n){ $g($n) & 'y' }; $g("+in+"))",
		"$reduce([1..60], function($a, $v){ $a & $a }, 'xxxxxxxxxxxxxxxx')",
		"$reduce([1..60], function($a, $v){ $append($a, $a) }, "+in+")",
		"$match($string("+in+"), /((x+x+)+y|(a|a?)+$)/)",
		"$contains('"+strings.Repeat("a", 200)+"!', /^((a+)+)+$/)",
		strings.Repeat("(", 900)+in+strings.Repeat(")", 900),
		strings.Repeat("[", 900)+in+strings.Repeat("]", 900),
		"$states.input.**.**.**",
		"$eval('$eval(\"[1..99999]\")')",
		"$merge($map([1..99999], function($v){ {$string($v): "+in+"} }))",
		"$power(9, 9999999) + $formatBase(1e300, 2)",
		// Small in memory, and large for one that reads it.
		"$reduce([1..60], function($a, $v){ {'a': $a, 'b': $a} }, "+in+") & ''",
		"$reduce([1..60], function($a, $v){ [[$a], [$a]] }, "+in+") = "+in,
		"$map([1..9999], function(){ "+in+" }).a",
		"[1..9999].("+in+").**",
		"[1..9999]{$string($): "+in+"}",
		in+" ~> |**|{'self': $}|",
	)
}

func (b bomber) jsonata() (string, string) {
	return b.state(map[string]any{"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% " + b.query(1+b.IntN(3)) + " %}", "End": true})
}

func (b bomber) condition(depth int) string {
	if depth == 0 {
		return b.pick("a.b[0].c = :v", "size(l) > :n", "contains(l, :v)", "contains(s, :s)", "begins_with(s, :s)",
			"l = :l", "n BETWEEN :n AND :n", "attribute_exists(l[99999])", "s IN ("+strings.Repeat(":s,", 90)+":s)")
	}

	switch b.IntN(5) {
	case 0:
		return strings.Repeat("(", 100) + b.condition(depth-1) + strings.Repeat(")", 100)
	case 1:
		return strings.Repeat("NOT ", 200) + b.condition(depth-1)
	case 2:
		return strings.Repeat(b.condition(0)+" OR ", 60) + b.condition(depth-1)
	case 3:
		return b.pick("size("+strings.Repeat("a.b[7].", 500)+"c) > :n", "contains("+strings.Repeat("l[0]", 300)+", :v)",
			strings.Repeat("attribute_type(l, :s) AND ", 100)+b.condition(depth-1))
	}

	return b.condition(depth-1) + " AND " + b.condition(depth-1)
}

// values are the values of expressions; the long ones are nearly as long as an item.
func (b bomber) values() map[string]any {
	list := make([]any, 10_000)
	for i := range list {
		list[i] = map[string]any{"N": fmt.Sprint(i)}
	}

	return map[string]any{
		":v": map[string]any{"L": list}, ":l": map[string]any{"L": list},
		":s": map[string]any{"S": strings.Repeat("ab", 50_000)},
		":n": map[string]any{"N": b.pick("1e125", "-9.9999999999999999999999999999999999999e+125", "1e-130", "7")},
	}
}

func (b bomber) dynamo() (string, string) {
	in := map[string]any{"TableName": "bombs"}

	target := "Scan"
	switch b.IntN(3) {
	case 0:
		target, in["Key"] = "UpdateItem", map[string]any{"id": map[string]any{"S": fmt.Sprint(b.IntN(3))}}
		in["UpdateExpression"] = b.pick(
			"SET l = list_append(l, list_append(:l, list_append(:l, :l)))",
			"SET n = n + :n, m = :n - n, q = if_not_exists(q, if_not_exists(r, :l))",
			"ADD x :n REMOVE "+strings.Repeat("l[9999999],", 100)+"z",
			"SET "+strings.Repeat("a.b[7].c.", 60)+"d = :l",
		)
		in["ConditionExpression"] = b.condition(b.IntN(4))
	case 1:
		in["FilterExpression"] = b.condition(b.IntN(5))
	default:
		in["FilterExpression"] = b.condition(1)
		in["ProjectionExpression"] = strings.TrimSuffix(strings.Repeat("l[0],a.b[0].c,", 100), ",")
	}

	// Values that no expression uses are refused.
	text, values := fmt.Sprint(in), b.values()
	for name := range values {
		if !strings.Contains(text, name) {
			delete(values, name)
		}
	}

	if len(values) > 0 {
		in["ExpressionAttributeValues"] = values
	}

	request, _ := json.Marshal(in)

	return "DynamoDB_20120810." + target, string(request)
}

func (b bomber) partiQL() (string, string) {
	nested := strings.Repeat("[", b.IntN(2000)) + "1" + strings.Repeat("]", b.IntN(2000))
	where := b.pick(
		strings.Repeat("(", 1000)+"s = 'a'"+strings.Repeat(")", 1000),
		strings.Repeat("NOT ", 1500)+"s = 'a'",
		"id IN ['1'"+strings.Repeat(",'1'", 1500)+"]",
		strings.Repeat("contains(s, 'ab') OR ", 300)+"size(l) > 1",
		"l = "+nested,
		"l = "+strings.Repeat("{'a':", b.IntN(2000))+"1"+strings.Repeat("}", b.IntN(2000)),
		"s = '"+strings.Repeat("''", 4000)+"'",
		"n BETWEEN "+strings.Repeat("9", 4000)+" AND 1e"+strings.Repeat("9", 100),
		strings.Repeat("begins_with(s, 'ab') AND ", 300)+"s > 'a'",
		strings.Repeat("l[0].a.", 800)+"b = 1",
	)
	statement := b.pick(
		`SELECT * FROM "bombs" WHERE `+where,
		`UPDATE "bombs" SET l = list_append(l, `+nested+`) WHERE id = '1' AND `+where,
		`INSERT INTO "bombs" VALUE {'id': '9', 'l': `+nested+`}`,
		`DELETE FROM "bombs" WHERE id = '1' AND `+where,
	)
	request, _ := json.Marshal(map[string]any{"Statement": statement})

	return "DynamoDB_20120810.ExecuteStatement", string(request)
}

// TestBombsEnd sends generated expressions that want much: each request is answered by its deadline, in bounded
// memory, and the engine works as before.
func TestBombsEnd(t *testing.T) {
	f := open(t)
	f.table("bombs", "id", "", types.StreamViewTypeNewAndOldImages)

	for i := range 3 {
		list := make([]types.AttributeValue, 5000)
		for n := range list {
			list[n] = str(strings.Repeat("x", 40))
		}

		f.put("bombs", item{"id": str(fmt.Sprint(i)), "s": str(strings.Repeat("ab", 20_000)), "l": &types.AttributeValueMemberL{Value: list}})
	}

	// As a process has it that sets nothing.
	defer debug.SetGCPercent(debug.SetGCPercent(100))

	held := watchMemory(t)
	b := bomber{}

	for _, kind := range []struct {
		name string
		make func() (target, body string)
	}{
		{"JSONPath", func() (string, string) { return b.jsonPath() }},
		{"intrinsic functions", func() (string, string) { return b.intrinsic() }},
		{"JSONata", func() (string, string) { return b.jsonata() }},
		{"expressions", func() (string, string) { return b.dynamo() }},
		{"PartiQL", func() (string, string) { return b.partiQL() }},
	} {
		longest, size := time.Duration(0), 0

		for i := range uint64(*flagBombs) {
			seed := *flagBombSeed + i
			b.Rand = rand.New(rand.NewPCG(seed, 0))

			target, body := kind.make()
			size = max(size, len(body))
			began := time.Now()

			status := f.bomb(t.Context(), target, body)
			longest = max(longest, time.Since(began))

			if took := time.Since(began); took > bombTime || status >= http.StatusInternalServerError {
				t.Errorf("%s, seed %d: status %d after %v: %.300s", kind.name, seed, status, took, body)
			}
		}

		t.Logf("%s: %d bombs of up to %d KB, the longest %v, the process at most %d MB", kind.name, *flagBombs, size>>10, longest.Round(time.Millisecond), held()>>20)
	}

	if most := held(); most > bombSize {
		t.Errorf("the bombs took %d MB", most>>20)
	}
}

func (f *fixture) bomb(ctx context.Context, target, body string) int {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", target)

	w := httptest.NewRecorder()
	f.gate.ServeHTTP(w, r)

	return w.Code
}

// watchMemory measures what Go's runtime has from the system, garbage and stacks too, without what it has given back,
// until the test ends. That is the process but for its program and a few MB. The function that it returns has the
// largest size so far, in bytes.
func watchMemory(t *testing.T) func() uint64 {
	t.Helper()
	debug.FreeOSMemory() // what other tests have left

	stop, most := make(chan struct{}), make(chan uint64)
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		sample, peak := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}, uint64(0)
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()

		for {
			select {
			case <-every.C:
				metrics.Read(sample)

				peak = max(peak, sample[0].Value.Uint64()-sample[1].Value.Uint64())
			case most <- peak:
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})

	return func() uint64 { return <-most }
}

// TestAnAbandonedEvaluationEnds: expressions whose caller has gone, and those under way when the engine closes, end
// long before their deadline, and say nothing about the workflow.
func TestAnAbandonedEvaluationEnds(t *testing.T) {
	var out bytes.Buffer
	for i := range 17_000 {
		fmt.Fprintf(&out, `,{"b":%d}`, i)
	}

	input := `{"a":[` + out.String()[1:] + `]}`
	for name, state := range map[string]map[string]any{
		"JSONPath": {"Type": "Pass", "Parameters": map[string]any{"x.$": "$.a[?(@.b == $.a[16999].b)]"}, "End": true},
		"JSONata": {"Type": "Pass", "QueryLanguage": "JSONata", "End": true,
			"Output": "{% $count($states.input.a[$count($states.input.a[b > 3]) > 7]) %}"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			definition, _ := json.Marshal(state)
			request, _ := json.Marshal(map[string]any{"definition": string(definition), "input": input, "roleArn": "arn:aws:iam::000000000000:role/x"})

			// Three times as many as there are places, so that some wait for theirs.
			const callers = 12

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan int, callers)

			for range callers {
				go func() { ended <- f.bomb(ctx, "AWSStepFunctions.TestState", string(request)) }()
			}

			began := processorTime(t)
			cancel()

			for range callers {
				if status := <-ended; status == http.StatusOK {
					t.Errorf("an abandoned call was answered with %d", status)
				}
			}

			go func() { ended <- f.bomb(t.Context(), "AWSStepFunctions.TestState", string(request)) }()

			// The call may not have come in when the engine closes: it is refused then.
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			<-ended

			// All of them together would take a quarter of a minute and more, up to their deadlines. Time without a processor
			// says nothing.
			if took := processorTime(t) - began; took > 12*time.Second {
				t.Errorf("they ended after %v", took)
			}
		})
	}
}
