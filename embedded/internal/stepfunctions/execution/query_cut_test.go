package execution

import (
	"strings"
	"testing"
)

// A Map whose execution is redriven goes on with the Items that it had, although they are random.
func TestRedrivenMapKeepsItsItems(t *testing.T) {
	x := newMemoryExecution(t, queryDefinition(`"A":{"Type":"Map","Items":"{% [$uuid(), $uuid(), $uuid()] %}","MaxConcurrency":"{% $random() < 2 ? 1 : 0 %}",
		"ItemProcessor":{"StartAt":"W","States":{"W":{WORK,"Arguments":"{% $states.input %}","End":true}}},"End":true}`))
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	items := string(x.prepared(t))

	first, input, err := x.take("W")
	if err != nil {
		t.Fatal(err)
	}

	err = x.step(func(e *Env, s *State) (*Turn, error) { return e.Fail(s, first, x.tokens[first], "Lost", "") })
	if err != nil {
		t.Fatal(err)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) { return e.Redrive(s) }); err != nil {
		t.Fatal(err)
	}

	if again := string(x.prepared(t)); again != items {
		t.Errorf("the items were %s and are %s", items, again)
	}

	x.finish(t)

	if got := x.outcome(t); got != items || !strings.Contains(got, input) {
		t.Errorf("the tasks had %s of the items %s, the first one %s", got, items, input)
	}
}

// prepared returns the items that the only Map of the execution has evaluated.
func (x *memoryExecution) prepared(t *testing.T) (items []byte) {
	t.Helper()

	err := x.step(func(e *Env, s *State) (*Turn, error) {
		turn := e.turn(s)

		var err error
		if items, err = turn.prepared(s.threads[0], "Items"); err != nil {
			return nil, err
		}

		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return items
}

// The children of a distributed Map get the same BatchInput whenever their inputs are made.
func TestBatchInputIsEvaluatedOnce(t *testing.T) {
	x := newMemoryExecution(t, queryDefinition(`"A":{"Type":"Map","Items":"{% [1,2,3] %}","Label":"m","ItemBatcher":{"MaxItemsPerBatch":"{% 2 %}","BatchInput":{"id":"{% $uuid() %}"}},
		"ToleratedFailureCount":"{% 1 %}","ToleratedFailurePercentage":"{% 12.5 %}","MaxConcurrency":"{% 7 %}",
		"ItemSelector":{"v":"{% $states.context.Map.Item.Value * 10 %}"},
		"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}},"End":true}`))
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	run := x.runs[0]
	if run.Items != 3 || run.BatchItems != 2 || run.Concurrency != 7 || run.ToleratedCount != 1 || run.ToleratedPercentage != 12.5 {
		t.Errorf("%+v", run)
	}

	first, failed, err := x.inputs(run, MapCursor{})
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}

	second, _, _ := x.inputs(run, MapCursor{})
	if len(first) != 2 || strings.Join(first, "\n") != strings.Join(second, "\n") {
		t.Errorf("%s\n%s", first, second)
	}

	if !strings.HasPrefix(first[0], `{"BatchInput":{"id":"`) || !strings.HasSuffix(first[0], `"Items":[{"v":10},{"v":20}]}`) {
		t.Error(first[0])
	}
}

// A branch that starts only with a redrive gets the Arguments that the other branches got.
func TestRedrivenParallelKeepsItsArguments(t *testing.T) {
	x := newMemoryExecution(t, queryDefinition(`"A":{"Type":"Parallel","Arguments":"{% $uuid() %}","Output":"{% $states.result[0] = $states.result[1] %}","End":true,"Branches":[
		{"StartAt":"L","States":{"L":{"Type":"Pass","Output":"{% $states.context.Execution.RedriveCount > 0 ? $states.input : $none %}","End":true}}},
		{"StartAt":"R","States":{"R":{"Type":"Pass","End":true}}}]}`))
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	if got := x.outcome(t); !strings.HasPrefix(got, "FAILED States.QueryEvaluationError") {
		t.Fatal(got)
	}

	if err := x.step(func(e *Env, s *State) (*Turn, error) { return e.Redrive(s) }); err != nil {
		t.Fatal(err)
	}

	if got := x.outcome(t); got != "true" {
		t.Errorf("%s\n%s", got, x.history())
	}
}
