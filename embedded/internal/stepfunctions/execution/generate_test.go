package execution

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// generator writes definitions with every kind of state. What a state reads, the input and
// the states before it have.
type generator struct {
	rt     *rapid.T
	states int // numbers names
	text   strings.Builder
}

// flow writes "StartAt" and "States" of a flow in which scope names the variables of this
// and of outer flows.
func (g *generator) flow(depth int, scope []string) {
	n := rapid.IntRange(1, 3).Draw(g.rt, "length")
	first := g.states
	g.states += n + 1

	fmt.Fprintf(&g.text, `"StartAt":"S%d","States":{`, first)

	for i := first; i < first+n; i++ {
		own := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&g.text, `"S%d":{`, i)

		if rapid.Bool().Draw(g.rt, "JSONata") {
			g.query(i, depth, scope)
			fmt.Fprintf(&g.text, `"Next":"S%d","Assign":{"%s":{"at":%d,"saw":"{%% $states.input %%}"}}},`, i+1, own, i)
		} else {
			g.state(i, depth, scope)
			fmt.Fprintf(&g.text, `"Next":"S%d","Assign":{"%s":{"at":%d,"saw.$":"$"}}},`, i+1, own, i)
		}

		scope = append(scope, own)
	}

	fmt.Fprintf(&g.text, `"S%d":{"Type":"Pass","Parameters":{"last.$":"$","seen":{`, first+n)

	for i, name := range scope {
		if i > 0 {
			g.text.WriteByte(',')
		}

		fmt.Fprintf(&g.text, `"%s.$":"$%s.at"`, name, name)
	}

	g.text.WriteString(`}},"End":true}}`)
}

// state writes the fields of one state without its end, with a comma after each.
func (g *generator) state(i, depth int, scope []string) {
	kind := rapid.IntRange(0, 7).Draw(g.rt, "kind")
	if depth == 0 {
		kind %= 4
	}

	catch := ""
	if rapid.Bool().Draw(g.rt, "catch") {
		// The next state needs the variable and the input of this one. So Boom is the only error, and
		// it does not matter which of several branches fails first.
		catch = fmt.Sprintf(`"Catch":[{"ErrorEquals":["Boom"],"ResultPath":"$.e","Assign":{"v%d":{"at":"caught"}},"Next":"S%d"}],`, i, i+1)
	}

	retry := ""
	if rapid.Bool().Draw(g.rt, "retry") {
		retry = `"Retry":[{"ErrorEquals":["Boom"],"IntervalSeconds":1,"MaxAttempts":1}],`
	}

	switch kind {
	case 0:
		g.text.WriteString(`"Type":"Pass","Parameters":{"in.$":"$"},"ResultPath":"$.p",`)
	case 1:
		fmt.Fprintf(&g.text, `"Type":"Wait","Seconds":%d,`, rapid.IntRange(0, 3).Draw(g.rt, "seconds"))
	case 2, 3:
		fmt.Fprintf(&g.text, `"Type":"Task","Resource":"%s",`+
			`"ResultPath":"$.t","Parameters":{"s":%d,"n.$":"$$.State.RetryCount"},%s%s`, g.resource(), i, retry, catch)
	case 4, 5:
		g.text.WriteString(`"Type":"Parallel","ResultPath":"$.b",` + retry + catch + `"Branches":[{`)
		g.flow(depth-1, scope)
		g.text.WriteString(`},{`)
		g.flow(depth-1, scope)
		g.text.WriteString(`}],`)
	case 7: // whose executions begin without variables, and whose failures are in the result
		batcher := ""
		if depth == 1 && rapid.Bool().Draw(g.rt, "batcher") { // its input has no list for a Map inside of it
			batcher = `"ItemBatcher":{"MaxItemsPerBatch":2,"BatchInput":{"list.$":"$.list"}},`
		}

		selector := `"ItemSelector":{"list.$":"$.list","v.$":"$$.Map.Item.Value"},`
		fmt.Fprintf(&g.text, `"Type":"Map","ItemsPath":"$.list","ToleratedFailurePercentage":100,"ResultPath":"$.d",%s%s%s%s`+
			`"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},`,
			retry, catch, selector, batcher)
		g.flow(depth-1, nil)
		g.text.WriteString(`},`)
	default:
		fmt.Fprintf(&g.text, `"Type":"Map","ItemsPath":"$.list","MaxConcurrency":%d,"ResultPath":"$.m",%s%s`+
			`"ItemSelector":{"list.$":"$.list","v.$":"$$.Map.Item.Value"},"ItemProcessor":{`,
			rapid.IntRange(0, 2).Draw(g.rt, "concurrency"), retry, catch)
		g.flow(depth-1, scope)
		g.text.WriteString(`},`)
	}
}

// resource is the Resource of a Task: an activity or a function.
func (g *generator) resource() string {
	return rapid.SampledFrom([]string{
		"arn:aws:states:us-east-1:000000000000:activity:w", "arn:aws:lambda:us-east-1:000000000000:function:w",
	}).Draw(g.rt, "resource")
}

// run starts the definition and answers its tasks until it ends. Whether a task fails
// depends on its input only, and the number of its retries is in there.
func (x *memoryExecution) run(rt *rapid.T, salt int, input string) {
	if err := x.start(input); err != nil {
		rt.Fatal(err)
	}

	for steps := 0; x.state().Status == Running; steps++ {
		if steps > 10_000 {
			rt.Fatal("it does not end\n" + x.history())
		}

		if len(x.runs) > 0 {
			x.runChildren(rt, salt, x.runs[0])
			continue
		}

		if len(x.queue) == 0 {
			if err := x.sleep(time.Second); err != nil {
				rt.Fatal(err)
			}

			continue
		}

		err := x.work(salt, x.queue[0])
		if x.cut > 0 && (errors.Is(err, ErrTaskTimedOut) || errors.Is(err, ErrNotScheduled)) {
			// What follows from an earlier failure of another branch was cut off, and was done when the
			// task was started or answered: it ended the task.
			continue
		}

		if err != nil {
			rt.Fatal(err)
		}
	}
}

// work starts a task and ends it with its own input, or with Boom.
func (x *memoryExecution) work(salt int, task Task) error {
	fails := func(input []byte) bool {
		hash := fnv.New32a()
		fmt.Fprintf(hash, "%d%s", salt, input)

		return hash.Sum32()%4 == 0
	}

	if isCall(task) {
		call, err := x.env().Call(x.state(), task.Thread, task.Attempt)
		if err != nil {
			return err
		}

		failure := ""
		if fails(call.Parameters) {
			failure = "Boom"
		}

		return x.call(task, call.Parameters, failure)
	}

	token := [TokenSize]byte{byte(task.Thread), byte(task.Attempt)}
	var input []byte

	err := x.step(func(e *Env, s *State) (turn *Turn, err error) {
		input, turn, err = e.StartTask(s, task.Thread, task.Attempt, "", token)
		return turn, err
	})
	if err != nil {
		return err
	}

	return x.step(func(e *Env, s *State) (*Turn, error) {
		if fails(input) {
			return e.Fail(s, task.Thread, token, "Boom", "")
		}

		return e.Succeed(s, task.Thread, token, input)
	})
}

// runChildren runs the children of a Map Run, each as an execution of its own, and ends the Map Run.
func (x *memoryExecution) runChildren(rt *rapid.T, salt int, r MapRun) {
	inputs, failed, err := x.inputs(r, MapCursor{})
	if failed != nil || err != nil {
		rt.Fatal(failed, err)
	}

	results := make([]string, len(inputs))
	for i, input := range inputs {
		child := &memoryExecution{machine: x.machine.States[r.Map].Distributed.Child, now: x.now, cut: x.cut}
		child.reset()
		child.run(rt, salt, input)

		s := child.state()
		if s.Status != Succeeded {
			results[i] = fmt.Sprintf("%q", s.Error)
			continue
		}

		output, err := child.Document(s.Output)
		if err != nil {
			rt.Fatal(err)
		}

		results[i] = string(output)
	}

	err = x.step(func(e *Env, s *State) (*Turn, error) {
		return e.MapEnded(s, r.Thread, r.Run, r.Redrives, []byte("["+strings.Join(results, ",")+"]"), nil)
	})
	if err != nil && (x.cut == 0 || !errors.Is(err, ErrNotScheduled)) { // see run
		rt.Fatal(err)
	}
}

// An execution that is cut after every event, and goes on from its stored form, ends as one
// that is not.
func TestGeneratedDefinitionsCutAtEveryEvent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &generator{rt: rt}
		g.text.WriteByte('{')
		g.flow(rapid.IntRange(0, 2).Draw(rt, "depth"), nil)
		g.text.WriteByte('}')

		salt := rapid.IntRange(0, 1000).Draw(rt, "salt")
		whole, cut := newMemoryExecution(t, g.text.String()), newMemoryExecution(t, g.text.String())
		cut.cut = 1
		whole.run(rt, salt, `{"list":[1,2,3]}`)
		cut.run(rt, salt, `{"list":[1,2,3]}`)

		a, b := whole.state(), cut.state()
		if a.Status != b.Status || a.Error != b.Error {
			rt.Fatalf("whole: %s %s %s\ncut: %s %s %s\n%s", a.Status, a.Error, a.Cause, b.Status, b.Error, b.Cause, g.text.String())
		}

		if a.Status != Succeeded {
			return
		}

		x, errX := whole.Document(a.Output)
		y, errY := cut.Document(b.Output)
		if errX != nil || errY != nil || string(x) != string(y) {
			rt.Fatalf("whole: %s %v\ncut: %s %v\n%s", x, errX, y, errY, g.text.String())
		}
	})
}
