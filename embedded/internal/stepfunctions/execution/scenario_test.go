package execution

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// memoryExecution is an execution in memory with its clock and queue. Each stimulus reads and writes
// the stored forms of state and events, as in production.
type memoryExecution struct {
	machine *asl.Machine
	now     time.Time
	stored  []byte
	chunks  map[int64][]byte
	events  []Event
	queue   []Task
	runs    []MapRun // for which threads wait
	ended   []EndedRun
	tokens  map[int64][TokenSize]byte
	seq     uint64
	random  *rand.Rand
	// cut is Env.turnEvents of every stimulus.
	cut int
}

func (x *memoryExecution) Document(ref Ref) ([]byte, error) {
	return FindDocument(ref, x.chunks[ref.Chunk])
}

func (x *memoryExecution) Assigned(ref Ref) ([]byte, error) {
	return FindAssigned(ref, x.chunks[ref.Chunk])
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newMemoryExecution(t testing.TB, definition string) *memoryExecution {
	t.Helper()

	m, found := asl.Parse([]byte(definition))
	if m == nil {
		t.Fatal(found.Err())
	}

	x := &memoryExecution{machine: m, now: epoch}
	x.reset()

	return x
}

func (x *memoryExecution) reset() {
	x.chunks = map[int64][]byte{}
	x.tokens = map[int64][TokenSize]byte{}
	x.random = rand.New(rand.NewPCG(1, 2))
}

func (x *memoryExecution) env() *Env {
	return &Env{
		Machine: x.machine,
		Now:     x.now,
		Random:  x.random,
		History: x,
		Identity: func() Identity {
			return Identity{ARN: "arn:x:e", RoleARN: "arn:role", MachineARN: "arn:m", MachineName: "m"}
		},
		NewSecret:      func() [TokenSize]byte { return [TokenSize]byte{1} },
		Token:          func(thread int64, _ [TokenSize]byte) string { return "token-" + strconv.FormatInt(thread, 10) },
		ActivityExists: func(arn string) bool { return !strings.HasSuffix(arn, ":missing") },
		Sequence:       func() uint64 { x.seq++; return x.seq },
		turnEvents:     x.cut,
		NewRun: func(s *asl.State) (uint64, string, error) {
			x.seq++
			return x.seq, fmt.Sprintf("%s:run-%d", s.Distributed.Label, x.seq), nil
		},
	}
}

// step applies one stimulus to the stored state and stores the result.
func (x *memoryExecution) step(apply func(e *Env, s *State) (*Turn, error)) error {
	s := &State{Name: "run"}
	if x.stored != nil {
		var err error
		if s, err = ReadState(x.stored); err != nil {
			return err
		}
	}

	turn, err := apply(x.env(), s)
	if turn == nil {
		return err
	}

	if len(turn.Events) > 0 {
		x.chunks[turn.Chunk()] = AppendEvents(nil, turn.Events)
		x.events = append(x.events, turn.Events...)
	}

	for _, task := range turn.Dequeued {
		for i := range x.queue {
			if x.queue[i] == task {
				x.queue = append(x.queue[:i], x.queue[i+1:]...)
				break
			}
		}
	}
	x.queue = append(x.queue, turn.Queued...)
	x.runs = append(x.runs, turn.Runs...)

	for _, ended := range turn.EndedRuns {
		x.runs = slices.DeleteFunc(x.runs, func(r MapRun) bool { return r.Run == ended.Run })
		x.ended = append(x.ended, ended)
	}

	x.stored = AppendState(nil, s)

	return err
}

func (x *memoryExecution) state() *State {
	s, err := ReadState(x.stored)
	if err != nil {
		panic(err)
	}

	return s
}

func (x *memoryExecution) start(input string) error {
	return x.step(func(e *Env, s *State) (*Turn, error) { return e.Start(s, []byte(input)) })
}

// take starts the oldest queued task of a state and returns its thread and input.
func (x *memoryExecution) take(state string) (id int64, input string, err error) {
	for _, task := range x.queue {
		th := x.state().thread(task.Thread)
		if x.machine.States[th.state].Name != state {
			continue
		}
		token := [TokenSize]byte{byte(task.Thread), byte(task.Attempt), 7}
		x.tokens[task.Thread] = token
		err = x.step(func(e *Env, s *State) (*Turn, error) {
			in, turn, err := e.StartTask(s, task.Thread, task.Attempt, "worker", token)
			input = string(in)
			return turn, err
		})

		return task.Thread, input, err
	}

	return 0, "", fmt.Errorf("no task of %s is queued", state)
}

// started finds the thread whose task is with a worker.
func (x *memoryExecution) started(state string) (int64, error) {
	for _, th := range x.state().threads {
		if th.phase == started && x.machine.States[th.state].Name == state {
			return th.id, nil
		}
	}

	return 0, fmt.Errorf("no task of %s is started", state)
}

// sleep advances the clock, with a Tick whenever a timer is due.
func (x *memoryExecution) sleep(d time.Duration) error {
	until := x.now.Add(d)
	for {
		next := x.state().NextTimer()
		if next == 0 || next > until.UnixMilli() {
			x.now = until
			return nil
		}

		x.now = time.UnixMilli(max(next, x.now.UnixMilli()))
		if err := x.step(func(e *Env, s *State) (*Turn, error) { return e.Tick(s) }); err != nil {
			return err
		}
	}
}

// command runs one line of a scenario.
func (x *memoryExecution) command(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	state, value, _ := strings.Cut(rest, " ")
	switch verb {
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}

		return x.sleep(d)
	case "stop":
		return x.step(func(e *Env, s *State) (*Turn, error) { return e.Stop(s, state, value) })
	case "redrive":
		return x.step(func(e *Env, s *State) (*Turn, error) { return e.Redrive(s) })
	case "take":
		_, input, err := x.take(state)
		if err == nil && value != "" && !rawjson.Equal([]byte(input), []byte(value)) {
			err = fmt.Errorf("the task's input is %s", input)
		}

		return err
	case "inputs", "map":
		return x.mapCommand(verb, state, value)
	case "payload", "answer", "refuse":
		return x.callCommand(verb, state, value)
	}

	id, err := x.started(state)
	if err != nil {
		if id, _, err = x.take(state); err != nil {
			return err
		}
	}

	return x.step(func(e *Env, s *State) (*Turn, error) {
		switch verb {
		case "succeed":
			return e.Succeed(s, id, x.tokens[id], []byte(value))
		case "fail":
			name, cause, _ := strings.Cut(value, " ")
			return e.Fail(s, id, x.tokens[id], name, cause)
		case "beat":
			return e.Heartbeat(s, id, x.tokens[id])
		}

		return nil, errors.New("unknown command " + verb)
	})
}

// mapCommand checks the inputs of the children of a distributed Map, or ends its Map Run with a
// result or with "fail", an error's name and a cause.
func (x *memoryExecution) mapCommand(verb, state, value string) error {
	i := slices.IndexFunc(x.runs, func(r MapRun) bool { return x.machine.States[r.Map].Name == state })
	if i < 0 {
		return fmt.Errorf("no Map Run of %s", state)
	}

	r := x.runs[i]
	if verb == "inputs" {
		inputs, failed, err := x.inputs(r, MapCursor{})
		if err == nil && failed != nil {
			err = fmt.Errorf("%s: %s", failed.Name, failed.Cause)
		}

		if got := strings.Join(inputs, " "); err == nil && got != value {
			err = fmt.Errorf("the inputs are %s", got)
		}

		return err
	}

	return x.step(func(e *Env, s *State) (*Turn, error) {
		if name, failure, ok := strings.Cut(value, "fail "); ok && name == "" {
			name, cause, _ := strings.Cut(failure, " ")
			return e.MapEnded(s, r.Thread, r.Run, r.Redrives, nil, &CallFailure{name, cause})
		}

		return e.MapEnded(s, r.Thread, r.Run, r.Redrives, []byte(value), nil)
	})
}

// inputs returns the inputs of the children of a Map Run, each read from where the one before
// it has ended.
func (x *memoryExecution) inputs(r MapRun, from MapCursor) (inputs []string, failed *CallFailure, err error) {
	for {
		var next *MapInput

		failed, err = x.env().MapInputs(x.state(), r.Thread, r.Run, r.Redrives, from, func(in MapInput) bool {
			next = &in
			return false
		})
		if next == nil {
			return inputs, failed, err
		}

		inputs, from = append(inputs, string(next.JSON)), next.Next
	}
}

// history renders events as "id<prev Type state".
func (x *memoryExecution) history() string {
	var out strings.Builder
	for i := range x.events {
		e := &x.events[i]
		fmt.Fprintf(&out, "%d<%d %s", e.ID, e.Prev, e.Name(x.machine))

		if e.Type == StateEntered || e.Type == StateExited {
			fmt.Fprintf(&out, " %s", x.machine.States[e.State].Name)
		}

		switch e.Type {
		case MapIterationStarted, MapIterationSucceeded, MapIterationFailed, MapIterationAborted, MapStateStarted:
			fmt.Fprintf(&out, " %d", e.Index)
		case MapRunStarted:
			fmt.Fprintf(&out, " %s", e.Worker)
		case MapRunRedriven:
			fmt.Fprintf(&out, " %s %d", e.Worker, e.Index)
		default:
		}

		if e.Assigned != nil {
			fmt.Fprintf(&out, " %s", e.Assigned)
		}

		if e.Error != "" {
			fmt.Fprintf(&out, " %s", e.Error)
		}
		out.WriteByte('\n')
	}

	return out.String()
}

// TestScenarios runs the files of testdata. Each has sections "-- name --": the definition,
// the input, a script of commands, and the expected results.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}

	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScenario(t, file) })
	}
}

func runScenario(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	sections := map[string]string{}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		sections[name] = strings.TrimSpace(body)
	}
	const activity = `"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:work"`

	x := newMemoryExecution(t, strings.ReplaceAll(sections["definition"], `"WORK":1`, activity))
	if err := x.start(sections["input"]); err != nil {
		t.Fatal(err)
	}

	for n, line := range strings.Split(sections["script"], "\n") {
		line, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if line == "" {
			continue
		}

		err := x.command(line)
		if got := fmt.Sprint(err); err != nil && (want == "" || !strings.Contains(got, want)) || err == nil && want != "" {
			t.Fatalf("command %d %q: %v, want %q\n%s", n+1, line, err, want, x.history())
		}
	}

	s := x.state()
	got := map[string]string{
		"status":  s.Status.String(),
		"error":   s.Error,
		"cause":   s.Cause,
		"history": strings.TrimSpace(x.history()),
		"elapsed": strconv.FormatInt(x.now.UnixMilli()-s.Started, 10),
		"queued":  strconv.Itoa(len(x.queue)),
	}
	if s.Status == Succeeded {
		output, err := x.Document(s.Output)
		if err != nil {
			t.Fatal(err)
		}
		got["output"] = string(output)
	}

	for name, want := range sections {
		value, known := got[name]
		switch {
		case name == "definition" || name == "input" || name == "script":
		case name == "output" && known && rawjson.Equal([]byte(value), []byte(want)):
		case name == "cause" && want != "" && strings.Contains(value, want):
		case value != want:
			t.Errorf("%s:\n%s\nwant:\n%s\n\n%s %s %s", name, value, want, s.Status, s.Error, s.Cause)
		}
	}
}
