package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// The errors of the trial's tasks.
const (
	moved = "Order.Moved" // the order is not where the task expects it; the cause is its position
	busy  = "Order.Busy"  // may be repeated; the task may have done its work
)

// trialConfig describes the tasks of the trial.
func trialConfig() check.Config {
	return check.Config{
		Tasks: check.Tasks{
			"create": func(map[string]any) check.Effect { return check.Effect{Creates: true} },
			"look":   func(map[string]any) check.Effect { return check.Effect{Reads: true} },
			"note":   func(map[string]any) check.Effect { return check.Effect{} },
			"apply": func(p map[string]any) check.Effect {
				event, _ := p["event"].(string)
				_, constant := p["transitionId"]
				_, computed := p["transitionId.$"]

				return check.Effect{Event: workflow.Event(event), Fenced: constant || computed}
			},
		},
		Overtaken: []string{moved},
		Retryable: []string{busy},
		Terminal:  []string{"Order.Bad"},
	}
}

// applied is one transition of an order.
type applied struct {
	event    string
	to       workflow.State
	assigned bool // its id was not given by the caller
}

// world is the order of one execution, with everybody who moves it.
type world struct {
	mu sync.Mutex

	d       *workflow.Definition
	random  *rand.Rand
	state   workflow.State
	id      int
	history map[int]applied
	entered time.Time // when the order has entered its state
	opened  bool      // what the guards ask for
	edits   bool      // others change it now and then

	// What others and the network may still do: moves, failures, and workers that never come back.
	moves, failures, crashes int

	hints          map[string]int // events of others and errors that come before a state, by state and name
	calls          int
	refused, early map[string]int // by state of the machine: refusals, and calls before the order existed
	looping        bool
}

// maxCalls is the number of calls after which an execution counts as going round without an end.
const maxCalls = 120

func (w *world) move(event string, assigned bool, id int) bool {
	if w.edits && w.random.IntN(3) == 0 {
		w.opened = !w.opened
	}

	decision, err := w.d.Decide(w.state, workflow.Event(event), w.data(), nil)
	if err != nil || decision.To == "" {
		return false
	}

	w.state, w.id, w.entered = decision.To, id, time.Now()
	w.history[id] = applied{event, decision.To, assigned}

	return true
}

// data is what the guards see.
func (w *world) data() map[string]any {
	if w.opened {
		return map[string]any{"open": true}
	}

	return map[string]any{}
}

// pass makes the transitions whose time has come. With hints, nothing but these moves the order.
func (w *world) pass() {
	for w.hints == nil {
		timers := slices.DeleteFunc(slices.Clone(w.d.Timed(w.state)), func(timer workflow.Transition) bool {
			at, due := timer.Due(w.entered, w.data())
			return !due || at.After(time.Now())
		})
		if len(timers) == 0 || !w.move(string(timers[0].Event), true, w.id+1) {
			return
		}
	}
}

func (w *world) answer(state workflow.State, id int) string {
	return fmt.Sprintf(`{"orderId":"o","state":%q,"transitionId":%d}`, state, id)
}

// others moves the order now and then, with an id of its own or one that it was given.
func (w *world) others(at string) {
	for w.state != "" && w.moves > 0 {
		var hinted []string
		for _, e := range w.d.Events() {
			if w.hints[at+" "+string(e)] > 0 {
				hinted = append(hinted, string(e))
			}
		}

		// With hints, no other caller moves the order.
		if len(hinted) == 0 && (w.hints != nil || w.random.IntN(3) > 0) || len(hinted) > 0 && w.random.IntN(3) == 0 {
			return
		}

		w.moves--
		event := string(w.d.Events()[w.random.IntN(len(w.d.Events()))])
		if len(hinted) > 0 {
			event = hinted[w.random.IntN(len(hinted))]
		}
		w.move(event, w.random.IntN(2) == 0, w.id+1)
	}
}

// input returns the input of an execution.
func (w *world) input() string {
	var lists []string
	for i := range 10 {
		// An item has what a machine reads beside the order, as the input has it: the check trusts other data.
		item := `{"items":{},"flag":true}`
		list := []string{"[]", "[" + item + "]", "[" + item + "," + item + "]"}[w.random.IntN(3)]
		lists = append(lists, fmt.Sprintf(`"l%d":%s`, i, list))
	}

	return fmt.Sprintf(`{"items":{%s},"flag":%t}`, strings.Join(lists, ","), w.random.IntN(2) == 0)
}

// delay draws how long a worker takes, and whether it crashes before it has done anything.
func (w *world) delay() (takes time.Duration, crashes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.crashes > 0 && w.random.IntN(6) == 0 {
		w.crashes--
		return 0, true
	}

	return time.Duration(w.random.IntN(4)) * 500 * time.Millisecond, false
}

// call does a task.
func (w *world) call(name string, in taskInput) (result, failure string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.calls++; w.calls > maxCalls {
		w.looping = true
	}

	w.pass()
	w.others(in.At)

	err, fails := w.fails(in.At)
	if fails && err != "" {
		return "not now", err
	}

	result, failure = w.do(name, in)
	if fails && failure == "" {
		return "the answer is lost", busy
	}

	return result, failure
}

// fails draws whether a task fails by itself, and with which name: "" if only its answer is lost. It may fail
// with any name that some Catch has.
func (w *world) fails(at string) (name string, fails bool) {
	for _, name := range []string{busy, "Mine", "Order.Bad"} {
		if w.hints[at+" "+name] > 0 && w.random.IntN(4) > 0 {
			w.hints[at+" "+name]--
			if name == busy && w.random.IntN(3) == 0 {
				name = ""
			}

			return name, true
		}
	}

	// With hints, no other task fails.
	if w.hints != nil || w.failures == 0 || w.random.IntN(8) > 0 {
		return "", false
	}

	w.failures--

	return []string{busy, "", "Mine", "Order.Bad"}[w.random.IntN(4)], true
}

func (w *world) do(name string, in taskInput) (result, failure string) {
	if w.state == "" && name != "create" && name != "note" {
		w.early[in.At]++
	}

	switch name {
	case "create":
		if w.state == "" {
			w.state, w.id, w.entered = w.d.Initial(), 1, time.Now()
		}

		return w.answer(w.state, w.id), ""
	case "look":
		return w.answer(w.state, w.id), ""
	case "note":
		return `{"noted":true}`, ""
	}

	id, assigned := w.id+1, in.TransitionID == nil
	if !assigned {
		id = *in.TransitionID
	}

	if before := w.history[id]; !assigned && before.event == in.Event && !before.assigned {
		return w.answer(before.to, id), ""
	}

	if id <= w.id || !w.move(in.Event, assigned, id) {
		w.refused[in.At]++
		return w.answer(w.state, w.id), moved
	}

	return w.answer(w.state, w.id), ""
}

type taskInput struct {
	Run, At, Event string
	TransitionID   *int
}

// lab runs machines on the embedded engine.
type lab struct {
	t      testing.TB
	client *sfn.Client
	arns   *strings.Replacer

	mu     sync.Mutex
	worlds map[string]*world
	now    *world
	n      int
}

// newLab starts an engine with two workers for each activity.
func newLab(t testing.TB) *lab {
	l := &lab{t: t, worlds: map[string]*world{}}
	e := embeddedtest.Open(t, func(c *embedded.Config) {})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = e.Run(ctx) })
	l.client = sfn.NewFromConfig(e.AWSConfig())

	var pairs []string
	for _, name := range []string{"create", "look", "note", "apply"} {
		a, err := l.client.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String(name)})
		if err != nil {
			t.Fatal(err)
		}

		pairs = append(pairs, "${"+name+"Arn}", *a.ActivityArn)
		for range 2 {
			group.Go(func() { l.work(ctx, name, a.ActivityArn) })
		}
	}

	l.arns = strings.NewReplacer(pairs...)
	t.Cleanup(func() { cancel(); group.Wait() })

	return l
}

func (l *lab) work(ctx context.Context, name string, arn *string) {
	for ctx.Err() == nil {
		task, err := l.client.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: arn})
		if err != nil || task.TaskToken == nil {
			continue
		}

		var in taskInput
		if err := json.Unmarshal([]byte(*task.Input), &in); err != nil {
			l.t.Errorf("input of %s: %v", name, err)
		}

		l.mu.Lock()
		w := l.worlds[in.Run]
		// The items of a distributed Map are executions of their own.
		if w == nil {
			w = l.now
		}
		l.mu.Unlock()

		// Workers are of different speed, so that branches overtake each other.
		takes, crashes := w.delay()
		if crashes {
			continue
		}

		time.Sleep(takes)

		result, failure := w.call(name, in)
		if failure != "" {
			_, _ = l.client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: task.TaskToken, Error: &failure, Cause: &result})
			continue
		}

		_, _ = l.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: task.TaskToken, Output: &result})
	}
}

// visited is a state that an execution has entered, with the order's state in its data.
type visited struct{ state, order string }

// ran is how an execution went.
type ran struct {
	status, err, cause string
	visits             []visited
	items              []ran // of distributed Maps: executions of their own
	world              *world
}

// machine creates a state machine. The error says that the engine refuses it.
func (l *lab) machine(asl string) (arn string, err error) {
	l.n++

	m, err := l.client.CreateStateMachine(l.t.Context(), &sfn.CreateStateMachineInput{
		Name:       aws.String(fmt.Sprint("m", l.n)),
		Definition: aws.String(l.arns.Replace(asl)),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/r"),
	})
	if err != nil {
		return "", err
	}

	return *m.StateMachineArn, nil
}

// run runs an execution to its end, or until it goes round without an end.
func (l *lab) run(arn string, w *world) ran {
	l.n++
	name := fmt.Sprint("x", l.n)
	w.history, w.refused, w.early = map[int]applied{}, map[string]int{}, map[string]int{}

	l.mu.Lock()
	l.worlds[name], l.now = w, w
	l.mu.Unlock()

	ctx := l.t.Context()
	x, err := l.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &arn,
		Name:            &name,
		Input:           aws.String(w.input()),
	})
	if err != nil {
		l.t.Fatal(err)
	}

	r := ran{world: w}
	for waited := 0; ; waited++ {
		// Time is virtual: this lets the execution go on until nothing moves.
		time.Sleep(5 * time.Second)

		d, err := l.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: x.ExecutionArn})
		if err != nil {
			l.t.Fatal(err)
		}

		r.status, r.err, r.cause = string(d.Status), aws.ToString(d.Error), aws.ToString(d.Cause)
		if d.Status != types.ExecutionStatusRunning {
			break
		}

		w.mu.Lock()
		looping := w.looping || waited > 2_000
		w.mu.Unlock()

		if looping {
			_, _ = l.client.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: x.ExecutionArn})
			r.status = "LOOPING"

			break
		}
	}

	l.readHistory(&r, x.ExecutionArn)

	return r
}

// readHistory reads what an execution did, and the items of its distributed Maps.
func (l *lab) readHistory(r *ran, arn *string) {
	ctx := l.t.Context()
	h, err := l.client.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: arn, MaxResults: 1000})
	if err != nil {
		l.t.Fatal(err)
	}

	for _, e := range h.Events {
		if d := e.MapRunStartedEventDetails; d != nil {
			l.readItems(r, d.MapRunArn)
		}

		d := e.StateEnteredEventDetails
		if d == nil {
			continue
		}

		var in struct {
			Order *struct{ State *string }
		}
		_ = json.Unmarshal([]byte(aws.ToString(d.Input)), &in)

		v := visited{state: aws.ToString(d.Name)}
		if in.Order != nil && in.Order.State != nil {
			v.order = *in.Order.State
		}
		r.visits = append(r.visits, v)
	}
}

func (l *lab) readItems(r *ran, mapRun *string) {
	ctx := l.t.Context()
	list, err := l.client.ListExecutions(ctx, &sfn.ListExecutionsInput{MapRunArn: mapRun})
	if err != nil {
		l.t.Fatal(err)
	}

	for _, x := range list.Executions {
		d, err := l.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: x.ExecutionArn})
		if err != nil {
			l.t.Fatal(err)
		}

		item := ran{status: string(d.Status), err: aws.ToString(d.Error), cause: aws.ToString(d.Cause), world: r.world}
		l.readHistory(&item, x.ExecutionArn)
		r.items = append(r.items, item)
	}
}
