package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/waiting"
	"ratchet/embedded/internal/store"
)

// cutter runs the steps of a service by hand, one turn at a time, and throws the service away
// between any two of them: what is in memory is lost, as in a crash.
type cutter struct {
	rt    *rapid.T
	db    *store.DB
	svc   *Service
	cuts  bool
	bad   map[string]bool // items whose task fails
	ended map[string]int  // tasks that have succeeded, by the item
}

func (c *cutter) crash() {
	svc, err := New(c.db, Config{Region: "us-east-1", AccountID: "000000000000", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.rt.Fatal(err)
	}

	svc.chunk = 1
	c.svc = svc
}

// do calls an operation of the service.
func (c *cutter) do(operation string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}

	answer, err := c.svc.calls.Own[operation](context.Background(), body)
	if err != nil || out == nil {
		return err
	}

	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}

	return json.Unmarshal(text, out)
}

// must is do for operations that succeed.
func (c *cutter) must(operation string, in map[string]any, out any) {
	c.rt.Helper()

	if err := c.do(operation, in, out); err != nil {
		c.rt.Fatalf("%s: %v", operation, err)
	}
}

const cutActivity = "arn:aws:states:us-east-1:000000000000:activity:w"

// step takes one step: it advances a Map Run, or answers a task. It reports whether there was
// one.
func (c *cutter) step() bool {
	if c.cuts && rapid.Bool().Draw(c.rt, "crash") {
		c.crash()
	}

	q := c.svc.queues.Of(cutActivity)
	waits := q.Len() > 0

	if waits && rapid.Bool().Draw(c.rt, "task first") || !c.advance() {
		if !waits {
			return false
		}

		task, _ := q.Take(context.Background())
		c.answer(task)
	}

	c.check()

	return true
}

func (c *cutter) advance() bool {
	ok := c.svc.runs.Listed() > 0
	if ok {
		k, _ := c.svc.runs.Take(context.Background())
		if err := c.svc.advanceRun(context.Background(), k); err != nil {
			c.rt.Fatal(err)
		}
	}

	return ok
}

// answer starts a task and ends it, unless a crash comes between: then its token is kept and
// used by the next service.
func (c *cutter) answer(task waiting.Placed) {
	answer, err := c.svc.startTask(context.Background(), task, "")
	if err != nil {
		c.rt.Fatal(err)
	}

	var started struct{ TaskToken, Input string }
	if err := json.Unmarshal(answer.(json.RawMessage), &started); err != nil {
		c.rt.Fatal(err)
	}

	if c.cuts && rapid.Bool().Draw(c.rt, "crash with the task") {
		c.crash()
	}

	for item := range c.bad {
		if strings.Contains(started.Input, item) {
			c.must("SendTaskFailure", map[string]any{"taskToken": started.TaskToken, "error": "Boom"}, nil)
			return
		}
	}

	c.ended[started.Input]++
	c.must("SendTaskSuccess", map[string]any{"taskToken": started.TaskToken, "output": started.Input}, nil)
}

// check compares the counts of the Map Runs with their children.
func (c *cutter) check() {
	err := keys.Each(c.db, keys.MapRun, func(k, _ []byte) (bool, error) {
		r, err := c.svc.runs.Load(keys.RunAt(k))
		if err != nil {
			return false, err
		}

		var executions, items mapruns.Tally
		for _, kind := range []byte{keys.Running, keys.Ended} {
			err := c.db.Scan(keys.Of(kind, r.ID), keys.Of(kind, r.ID+1), false, func(_, v []byte) (bool, error) {
				st, err := execution.ReadState(v)
				executions[st.Status]++
				items[st.Status] += st.Child.Items

				return true, err
			})
			if err != nil {
				return false, err
			}
		}

		for s := range executions {
			if r.Executions[s]+r.WaitingExecutions[s] != executions[s] || r.Items[s]+r.WaitingItems[s] != items[s] {
				c.rt.Fatalf("Map Run %+v has the children %v with the items %v", r, executions, items)
			}
		}

		if items.Total() != int64(r.Next.Item) || r.Concurrency > 0 && executions[execution.Running] > r.Concurrency {
			c.rt.Fatalf("Map Run %+v has the children %v with the items %v", r, executions, items)
		}

		return true, nil
	})
	if err != nil {
		c.rt.Fatal(err)
	}
}

// finish steps until nothing is left to do.
func (c *cutter) finish() {
	for n := 0; c.step(); n++ {
		if n > 5000 {
			c.rt.Fatal("it does not end")
		}
	}
}

type cutDescription struct{ Status, Output, Error, Cause string }

func (c *cutter) describe(arn string) (d cutDescription) {
	c.must("DescribeExecution", map[string]any{"executionArn": arn}, &d)
	return d
}

// A Map Run that loses the engine between any two of its steps ends as it should: each child runs once, a
// redrive runs the unsuccessful children again, and the counts agree with the children all the time.
func TestMapRunsCutAtEveryStep(t *testing.T) {
	db, err := store.Open(store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	machines := 0

	rapid.Check(t, func(rt *rapid.T) {
		c := &cutter{rt: rt, db: db, cuts: true, bad: map[string]bool{}, ended: map[string]int{}}
		c.crash()
		c.must("CreateActivity", map[string]any{"name": "w"}, nil)

		machines++
		m := drawMap(rt, machines)
		name := fmt.Sprintf("m%d", machines)

		var created struct{ StateMachineArn string }
		c.must("CreateStateMachine", map[string]any{"name": name, "definition": m.definition(), "roleArn": "arn:aws:iam::000000000000:role/r"}, &created)

		for _, item := range m.bad {
			c.bad[m.items[item]] = true
		}

		var started struct{ ExecutionArn string }
		c.must("StartExecution", map[string]any{"stateMachineArn": created.StateMachineArn, "input": m.input(rt)}, &started)

		stops := rapid.IntRange(-1, 12).Draw(rt, "stops after")
		for n := 0; n != stops && c.step(); n++ {
		}

		stopped := false
		if c.describe(started.ExecutionArn).Status == "RUNNING" {
			stopped = true
			c.must("StopExecution", map[string]any{"executionArn": started.ExecutionArn, "error": "Enough"}, nil)
		}

		if stopped && rapid.Bool().Draw(rt, "redriven at once") {
			c.must("RedriveExecution", map[string]any{"executionArn": started.ExecutionArn}, nil)
			stopped = false
		}

		c.finish()
		m.checkEnd(c, started.ExecutionArn, stopped)

		if c.describe(started.ExecutionArn).Status != "SUCCEEDED" {
			clear(c.bad)
			c.must("RedriveExecution", map[string]any{"executionArn": started.ExecutionArn}, nil)
			c.finish()
			m.bad = nil
			m.checkEnd(c, started.ExecutionArn, false)
		}

		c.must("DeleteStateMachine", map[string]any{"stateMachineArn": created.StateMachineArn}, nil)
	})
}

// cutMap is a Map over items, some of which are bad.
type cutMap struct {
	items             []string
	bad               []int
	batch             int // 0 for none
	concurrency       int
	count, percentage int
	object            bool
}

func drawMap(rt *rapid.T, seed int) cutMap {
	m := cutMap{
		batch:       rapid.IntRange(0, 3).Draw(rt, "batch"),
		concurrency: rapid.IntRange(0, 3).Draw(rt, "concurrency"),
		count:       rapid.IntRange(0, 3).Draw(rt, "count"),
		percentage:  rapid.SampledFrom([]int{0, 0, 50, 100}).Draw(rt, "percentage"),
		object:      rapid.Bool().Draw(rt, "object"),
	}
	for i := range rapid.IntRange(0, 7).Draw(rt, "items") {
		m.items = append(m.items, fmt.Sprintf(`"i%d-%d"`, seed, i))
		if rapid.IntRange(0, 3).Draw(rt, "bad") == 0 {
			m.bad = append(m.bad, i)
		}
	}

	return m
}

func (m *cutMap) definition() string {
	batcher := ""
	if m.batch > 0 {
		batcher = fmt.Sprintf(`"ItemBatcher":{"MaxItemsPerBatch":%d},`, m.batch)
	}

	return mapOf("STANDARD", fmt.Sprintf(`%s"MaxConcurrency":%d,"ToleratedFailureCount":%d,"ToleratedFailurePercentage":%d,`,
		batcher, m.concurrency, m.count, m.percentage), "W", `"W":{"Type":"Task","Resource":"`+cutActivity+`","End":true}`)
}

func (m *cutMap) input(rt *rapid.T) string {
	if !m.object {
		return "[" + strings.Join(m.items, rapid.SampledFrom([]string{",", " , "}).Draw(rt, "comma")) + "]"
	}

	members := make([]string, len(m.items))
	for i, item := range m.items {
		members[i] = fmt.Sprintf(`"k%d": %s`, i, item)
	}

	return "{" + strings.Join(members, ",") + "}"
}

// inputs returns the inputs of the children, and for each whether an item of it is bad.
func (m *cutMap) inputs() (inputs []string, bad []int) {
	size := max(m.batch, 1)
	for i := 0; i < len(m.items); i += size {
		var batch []string

		failed := 0
		for j := i; j < min(i+size, len(m.items)); j++ {
			item := m.items[j]
			if m.object {
				item = fmt.Sprintf(`{"Key":"k%d","Value":%s}`, j, item)
			}

			batch = append(batch, item)

			if slices.Contains(m.bad, j) {
				failed = 1
			}
		}

		if m.batch == 0 {
			inputs = append(inputs, batch[0])
		} else {
			inputs = append(inputs, `{"Items":[`+strings.Join(batch, ",")+`]}`)
		}

		bad = append(bad, failed*len(batch))
	}

	return inputs, bad
}

// checkEnd compares the end of the execution, and the number of runs of its items, with the expected
// values.
func (m *cutMap) checkEnd(c *cutter, arn string, stopped bool) {
	inputs, bad := m.inputs()
	d := c.describe(arn)

	failed := 0
	for i, input := range inputs {
		failed += bad[i]

		if c.ended[input] > 1 {
			c.rt.Fatalf("%s has succeeded %d times", input, c.ended[input])
		}
	}

	exceeded := m.count > 0 && failed > m.count || m.percentage > 0 && failed*100 > m.percentage*len(m.items) ||
		m.count == 0 && m.percentage == 0 && failed > 0

	switch {
	case stopped:
		if d.Status != "ABORTED" {
			c.rt.Fatalf("stopped: %+v", d)
		}
	case exceeded:
		if d.Status != "FAILED" || d.Error != "States.ExceedToleratedFailureThreshold" {
			c.rt.Fatalf("exceeded: %+v", d)
		}
	default:
		var results []json.RawMessage
		if err := json.Unmarshal([]byte(d.Output), &results); err != nil || d.Status != "SUCCEEDED" || len(results) != len(inputs) {
			c.rt.Fatalf("%+v for %v", d, inputs)
		}

		for i, result := range results {
			var child struct{ Status, Error, Input string }

			if bad[i] == 0 && string(result) != inputs[i] {
				c.rt.Fatalf("%s leads to %s", inputs[i], result)
			}

			if bad[i] > 0 && (json.Unmarshal(result, &child) != nil || child.Status != "FAILED" || child.Error != "Boom" || child.Input != inputs[i]) {
				c.rt.Fatalf("%s leads to %s", inputs[i], result)
			}
		}
	}
}
