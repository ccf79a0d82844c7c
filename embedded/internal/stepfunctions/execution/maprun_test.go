package execution

import (
	"errors"
	"fmt"
	"testing"
)

// Only what ends the Map Run for which the state waits, after as many redrives as it has had,
// ends the state.
func TestStaleEndsOfMapRuns(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"Each","States":{"Each":{"Type":"Map","Label":"each","End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}}}}`)
	if err := x.start(`[1]`); err != nil {
		t.Fatal(err)
	}

	first := x.runs[0]
	for _, line := range []string{"stop Enough", "redrive"} {
		if err := x.command(line); err != nil {
			t.Fatal(err)
		}
	}

	again := x.runs[0]
	if again.Run != first.Run || again.Redrives != 1 || len(x.ended) != 1 || x.ended[0].Finished {
		t.Fatalf("%+v after %+v, ended %+v", again, first, x.ended)
	}

	end := func(thread int64, run uint64, redrives int64) error {
		return x.step(func(e *Env, s *State) (*Turn, error) {
			return e.MapEnded(s, thread, run, redrives, []byte(`[2]`), nil)
		})
	}

	for _, err := range []error{
		end(first.Thread, first.Run, first.Redrives),
		end(again.Thread, again.Run+1, again.Redrives),
		end(again.Thread+1, again.Run, again.Redrives),
	} {
		if !errors.Is(err, ErrNotScheduled) {
			t.Error(err)
		}
	}

	if _, err := x.env().MapInputs(x.state(), first.Thread, first.Run, 0, MapCursor{}, nil); !errors.Is(err, ErrNotScheduled) {
		t.Error(err)
	}

	if err := end(again.Thread, again.Run, again.Redrives); err != nil || x.state().Status != Succeeded || len(x.runs) != 0 ||
		fmt.Sprint(x.ended[1:]) != fmt.Sprint([]EndedRun{{Run: again.Run, Finished: true, Succeeded: true}}) {
		t.Errorf("%v, ended %+v", err, x.ended)
	}
}

// A redriven Map whose execution fails again in the same turn has its Map Run ended with it.
func TestMapRunThatStartsAndEndsInATurn(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"Both","States":{"Both":{"Type":"Parallel","End":true,"Branches":[
		{"StartAt":"Each","States":{"Each":{"Type":"Map","Label":"each","End":true,"ItemProcessor":{
		"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"In","States":{"In":{"Type":"Pass","End":true}}}}}},
		{"StartAt":"Bad","States":{"Bad":{"Type":"Fail","Error":"Boom"}}}]}}}`)
	if err := x.start(`[1]`); err != nil {
		t.Fatal(err)
	}

	for n := 1; n <= 2; n++ {
		if s := x.state(); s.Status != Failed || len(x.runs) != 0 || len(x.ended) != n || x.ended[n-1].Finished {
			t.Fatalf("%s, Map Runs %v, ended %+v\n%s", s.Status, x.runs, x.ended, x.history())
		}

		if err := x.command("redrive"); err != nil {
			t.Fatal(err)
		}
	}

	if x.ended[0].Run != x.ended[1].Run {
		t.Errorf("%+v", x.ended)
	}
}
