package execution

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// maze is a definition with every kind of state, nested, with Retry and Catch. WORK in it
// stands for the type and resource of a Task: see newMaze.
const maze = `{"StartAt":"In","TimeoutSeconds":5000,"States":{
 "In":{"Type":"Pass","Result":[1,2,3,4],"ResultPath":"$.list","Assign":{"seen.$":"$","n":1},"Next":"Fan"},
 "Fan":{"Type":"Map","ItemsPath":"$.list","MaxConcurrency":2,"ResultPath":"$.fan",
  "Retry":[{"ErrorEquals":["Again"],"IntervalSeconds":3,"MaxAttempts":2,"JitterStrategy":"FULL"}],
  "Catch":[{"ErrorEquals":["States.Timeout"],"ResultPath":"$.e","Next":"Rest"},{"ErrorEquals":["Caught"],"ResultPath":"$.e","Assign":{"n.$":"States.MathAdd($n, 1)"},"Next":"Both"}],
  "ItemProcessor":{"StartAt":"Work","States":{
   "Work":{WORK,"TimeoutSeconds":40,"HeartbeatSeconds":15,"Parameters":{"v.$":"$","i.$":"$$.Map.Item.Index","seen.$":"$seen"},"Assign":{"mine.$":"$"},
    "Retry":[{"ErrorEquals":["States.HeartbeatTimeout"],"IntervalSeconds":1,"MaxAttempts":1}],"Next":"Pick"},
   "Pick":{"Type":"Choice","Choices":[{"Variable":"$.long","IsPresent":true,"Next":"Nap"}],"Default":"Out"},
   "Nap":{"Type":"Wait","Seconds":20,"Next":"Out"},"Out":{"Type":"Succeed"}}},"Next":"Each"},
 "Each":{"Type":"Map","ItemsPath":"$.list","ResultPath":null,"Label":"each","Catch":[{"ErrorEquals":["Caught"],"ResultPath":null,"Next":"Both"}],
  "Retry":[{"ErrorEquals":["Again"],"IntervalSeconds":1,"MaxAttempts":1}],
  "ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"Z","States":{"Z":{"Type":"Pass","End":true}}},"Next":"Both"},
 "Both":{"Type":"Parallel","ResultPath":"$.both","Retry":[{"ErrorEquals":["States.TaskFailed"],"IntervalSeconds":2,"MaxAttempts":1}],
  "Branches":[
   {"StartAt":"L","States":{
    "L":{WORK,"ResultPath":null,"Next":"L2"},
    "L2":{"Type":"Wait","Seconds":5,"Next":"L3"},
    "L3":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:000000000000:function:f","TimeoutSeconds":30,"ResultPath":"$.f",
     "Retry":[{"ErrorEquals":["Again"],"IntervalSeconds":1,"MaxAttempts":1}],"Catch":[{"ErrorEquals":["Caught"],"Next":"L4"}],"End":true},
    "L4":{"Type":"Pass","End":true}}},
   {"StartAt":"R","States":{
    "R":{WORK,"HeartbeatSeconds":10,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"R2"}],"End":true},
    "R2":{"Type":"Pass","End":true}}}],"Next":"Rest"},
 "Rest":{"Type":"Wait","Seconds":1,"Next":"Back"},
 "Back":{"Type":"Choice","Choices":[{"Variable":"$.e","IsPresent":true,"Next":"Bad"}],"Default":"Last"},
 "Bad":{"Type":"Fail","ErrorPath":"$.e.Error"},"Last":{WORK,"End":true}}}`

func newMaze(t *testing.T) *memoryExecution { return newWork(t, maze) }

func newWork(t *testing.T, definition string) *memoryExecution {
	const work = `"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work"`

	return newMemoryExecution(t, strings.ReplaceAll(definition, "WORK", work))
}

// selectors is a definition whose Map fails by its ItemSelector for the third item, while others run.
const selectors = `{"StartAt":"M","States":{
 "M":{"Type":"Map","MaxConcurrency":2,"ItemSelector":{"v.$":"States.MathAdd($$.Map.Item.Value, 1)"},"ResultPath":null,
  "Retry":[{"ErrorEquals":["States.IntrinsicFailure","Again"],"IntervalSeconds":3,"MaxAttempts":1}],
  "Catch":[{"ErrorEquals":["States.IntrinsicFailure","Caught"],"ResultPath":null,"Next":"Last"}],
  "ItemProcessor":{"StartAt":"P","States":{"P":{"Type":"Parallel","End":true,"Branches":[
   {"StartAt":"A","States":{"A":{WORK,"Next":"B"},"B":{"Type":"Wait","Seconds":5,"End":true}}},
   {"StartAt":"C","States":{"C":{WORK,"TimeoutSeconds":20,"End":true}}}]}}},"Next":"Last"},
 "Last":{WORK,"End":true}}}`

// The invariants of check hold after each of a random sequence of stimuli.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x, input := newMaze(t), `{"in":true}`
		if rapid.IntRange(0, 3).Draw(rt, "definition") == 0 {
			x, input = newWork(t, selectors), `[1,2,"x",4]`
		}

		if err := x.start(input); err != nil {
			rt.Fatal(err)
		}
		x.check(rt)

		for range rapid.IntRange(1, 60).Draw(rt, "stimuli") {
			err := x.anything(rt)
			var refused *NotRedrivableError
			switch {
			case err == nil:
			case errors.Is(err, ErrTaskTimedOut), errors.Is(err, ErrNotScheduled):
			case errors.Is(err, ErrNotRunning), errors.As(err, &refused):
			default:
				rt.Fatalf("%v\n%s", err, x.history())
			}
			x.check(rt)
		}
	})
}

// anything applies a random stimulus.
func (x *memoryExecution) anything(rt *rapid.T) error {
	pick := rapid.IntRange(0, 99).Draw(rt, "what")
	if pick < 35 && len(x.queue) > 0 {
		task := x.queue[rapid.IntRange(0, len(x.queue)-1).Draw(rt, "task")]
		if isCall(task) {
			return x.call(task, []byte(`{"long":1}`), rapid.SampledFrom([]string{"", "", "Again", "Caught", "Other"}).Draw(rt, "error"))
		}

		token := [TokenSize]byte{byte(task.Thread), byte(task.Attempt), 1}
		x.tokens[task.Thread] = token

		return x.step(func(e *Env, s *State) (*Turn, error) {
			_, turn, err := e.StartTask(s, task.Thread, task.Attempt, "", token)
			return turn, err
		})
	}

	if pick < 45 && len(x.runs) > 0 {
		r := x.runs[rapid.IntRange(0, len(x.runs)-1).Draw(rt, "run")]
		name := rapid.SampledFrom([]string{"", "", "Again", "Caught", thresholdError, runtimeError}).Draw(rt, "failure")

		return x.step(func(e *Env, s *State) (*Turn, error) {
			if name != "" {
				return e.MapEnded(s, r.Thread, r.Run, r.Redrives, nil, &CallFailure{Name: name})
			}

			return e.MapEnded(s, r.Thread, r.Run, r.Redrives, []byte(`[1]`), nil)
		})
	}

	switch {
	case pick < 75 && len(x.tokens) > 0:
		var ids []int64
		for id := range x.tokens {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := rapid.SampledFrom(ids).Draw(rt, "thread")

		return x.step(func(e *Env, s *State) (*Turn, error) {
			switch how := rapid.IntRange(0, 9).Draw(rt, "how"); {
			case how < 6:
				return e.Succeed(s, id, x.tokens[id], []byte(rapid.SampledFrom([]string{`{}`, `{"long":1}`, `5`}).Draw(rt, "output")))
			case how < 8:
				return e.Fail(s, id, x.tokens[id], rapid.SampledFrom([]string{"Again", "Caught", "Other", ""}).Draw(rt, "error"), "")
			default:
				return e.Heartbeat(s, id, x.tokens[id])
			}
		})
	case pick < 96:
		return x.sleep(time.Duration(rapid.IntRange(1, 30000).Draw(rt, "ms")) * time.Millisecond)
	case pick < 98:
		return x.step(func(e *Env, s *State) (*Turn, error) { return e.Redrive(s) })
	default:
		return x.step(func(e *Env, s *State) (*Turn, error) { return e.Stop(s, "Stopped", "") })
	}
}

// check fails the test if an invariant between stimuli does not hold.
func (x *memoryExecution) check(rt *rapid.T) {
	s := x.state()
	if again := AppendState(nil, s); !bytes.Equal(again, x.stored) {
		rt.Fatalf("the state reads back as another")
	}

	for i := range x.events {
		e := &x.events[i]
		if e.ID != int64(i+1) || e.Prev >= e.ID {
			rt.Fatalf("event %d follows %d at place %d", e.ID, e.Prev, i+1)
		}
	}

	if s.LastEvent != int64(len(x.events)) {
		rt.Fatalf("last event %d of %d", s.LastEvent, len(x.events))
	}

	tasks := s.Tasks(x.machine)
	if len(tasks) != len(x.queue) {
		rt.Fatalf("the queue has %v, the state %v", x.queue, tasks)
	}

	for _, task := range tasks {
		if !slices.Contains(x.queue, task) {
			rt.Fatalf("task %v is not in the queue", task)
		}
	}

	runs := s.runs()
	if len(runs) != len(x.runs) {
		rt.Fatalf("the engine knows the Map Runs %v, the state %v", x.runs, runs)
	}

	for _, r := range x.runs {
		if !slices.Contains(runs, r.Run) {
			rt.Fatalf("no thread waits for the Map Run %v", r)
		}
	}

	if s.Status != Running {
		if s.NextTimer() != 0 || s.Stopped == 0 {
			rt.Fatalf("an ended execution waits for %d", s.NextTimer())
		}
		return
	}

	for _, th := range s.threads {
		if outer := s.thread(th.parent); th.parent != 0 && (outer == nil || outer.phase != joining) {
			rt.Fatalf("no thread waits for thread %d in %s\n%s", th.id, x.machine.States[th.state].Name, x.history())
		}

		switch th.phase {
		case scheduled, started, calling, mapping:
		case waiting, backoff, ready:
			if th.wake == 0 {
				rt.Fatalf("thread %d in %s waits for nothing\n%s", th.id, x.machine.States[th.state].Name, x.history())
			}
		case joining:
			children := 0
			for _, o := range s.threads {
				if o.parent == th.id {
					children++
				}
			}

			if children == 0 || children != th.running {
				rt.Fatalf("thread %d waits for %d children and has %d\n%s", th.id, th.running, children, x.history())
			}
		default:
			rt.Fatalf("thread %d is halted in a running execution\n%s", th.id, x.history())
		}
	}
}

// The history has every document to which an event refers.
func TestHistoryIsComplete(t *testing.T) {
	x := newMaze(t)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	for range 100 {
		for _, state := range []string{"Work", "L", "R", "Last"} {
			_ = x.command("succeed " + state + ` {"long":1}`)
		}

		_ = x.command("map Each [1,2]")
		_ = x.command(`answer L3 {"long":1}`)

		if err := x.sleep(time.Second); err != nil {
			t.Fatal(err)
		}
	}

	if s := x.state(); s.Status != Succeeded {
		t.Fatalf("%s %s %s\n%s", s.Status, s.Error, s.Cause, x.history())
	}

	documents := 0
	for chunk, data := range x.chunks {
		err := ReadEvents(chunk, data, func(e *Event) bool {
			if e.Doc != nil {
				documents++

				if _, err := x.Document(e.Doc.Ref); err != nil {
					t.Errorf("event %d: %v", e.ID, err)
				}
			}

			return true
		})
		if err != nil {
			t.Error(err)
		}
	}

	if documents < 50 {
		t.Errorf("only %d documents", documents)
	}
}

// Damaged stored forms give errors and do not panic.
func FuzzRead(f *testing.F) {
	x := newMemoryExecution(f, `{"StartAt":"P","States":{"P":{"Type":"Parallel","End":true,"Branches":[`+
		`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":5,"End":true}}},`+
		`{"StartAt":"X","States":{"X":{"Type":"Pass","End":true}}}]}}}`)
	if err := x.start(`{"a":1}`); err != nil {
		f.Fatal(err)
	}
	f.Add(x.stored, x.chunks[1])

	x = newMemoryExecution(f, `{"StartAt":"M","States":{"M":{"Type":"Map","Label":"l","End":true,"ItemProcessor":{"ProcessorConfig":{`+
		`"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"X","States":{"X":{"Type":"Pass","End":true}}}}}}`)
	if err := x.start(`[1]`); err != nil {
		f.Fatal(err)
	}

	s := x.state()
	s.Child = &Child{Machine: 1, Run: 2, Map: 3, Index: 4, Items: 5}
	f.Add(AppendState(nil, s), x.chunks[1])
	f.Fuzz(func(t *testing.T, state, events []byte) {
		if s, err := ReadState(state); err == nil {
			again, err := ReadState(AppendState(nil, s))
			if err != nil || (again.Child == nil) != (s.Child == nil) || s.Child != nil && *again.Child != *s.Child {
				t.Fatal(err, again, s)
			}
		}
		_ = ReadEvents(1, events, func(*Event) bool { return true })
		_, _ = FindDocument(Ref{Chunk: 1, ID: 2}, events)
	})
}
