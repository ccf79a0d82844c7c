package activities

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
)

// world is an embedded engine with one activity and a state machine around it.
type world struct {
	testing.TB
	engine    *embedded.Engine
	sfn       *sfn.Client // without faults
	transport *embeddedtest.Transport
	activity  string
	machine   string

	mu   sync.Mutex
	done []Done // the tasks that have ended
}

// newWorld makes a state machine with one task. The argument holds further members of
// its state, as `"HeartbeatSeconds": 3,`.
func newWorld(t testing.TB, task string) *world {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	w := &world{
		TB:        t,
		engine:    engine,
		sfn:       sfn.NewFromConfig(engine.AWSConfig()),
		transport: embeddedtest.NewTransport(engine.HTTPClient()),
	}

	act, err := w.sfn.CreateActivity(context.Background(), &sfn.CreateActivityInput{Name: aws.String("greet")})
	if err != nil {
		t.Fatal(err)
	}
	w.activity = *act.ActivityArn
	asl := fmt.Sprintf(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":%q,%s"End":true}}}`, w.activity, task)

	sm, err := w.sfn.CreateStateMachine(context.Background(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: &asl, RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.machine = *sm.StateMachineArn

	return w
}

// config serves the activity with handle, through the transport.
func (w *world) config(handle HandlerFunc, edit ...func(*Config)) Config {
	c := w.engine.AWSConfig()
	c.HTTPClient = w.transport

	cfg := Config{
		SFN:          sfn.NewFromConfig(c),
		Activities:   []Activity{{ARN: w.activity, Handle: handle, Slots: 4, Pollers: 2}},
		WorkerName:   "w",
		ErrorPrefix:  "Order.",
		PollGrace:    -1,
		DrainTimeout: 2 * time.Second,
		drainGrace:   500 * time.Millisecond,
		Log:          embeddedtest.Quiet(),
		Events:       Events{Done: w.note},
	}
	for _, e := range edit {
		e(&cfg)
	}

	return cfg
}

func (w *world) note(d Done) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, d)
}

// ends waits for n tasks to end and returns them.
func (w *world) ends(n int) []Done {
	w.Helper()
	var got []Done
	w.until(fmt.Sprintf("%d tasks have ended", n), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		got = append([]Done(nil), w.done...)
		return len(got) >= n
	})

	return got
}

// running is a worker that runs.
type running struct {
	*Worker
	stop func() error // asks it to stop and waits; may be called twice
	done chan struct{}
}

func (w *world) start(cfg Config) *running {
	w.Helper()
	r := begin(w.TB, cfg)
	w.Cleanup(func() { _ = r.stop() })
	return r
}

func begin(t testing.TB, cfg Config) *running {
	t.Helper()

	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Worker: w, done: make(chan struct{})}
	var ran error
	go func() { defer close(r.done); ran = w.Run(ctx) }()
	r.stop = func() error { cancel(); <-r.done; return ran }

	return r
}

// execute starts an execution.
func (w *world) execute(input string) (arn string) {
	w.Helper()

	out, err := w.sfn.StartExecution(context.Background(), &sfn.StartExecutionInput{StateMachineArn: &w.machine, Input: &input})
	if err != nil {
		w.Fatal(err)
	}

	return *out.ExecutionArn
}

// result waits for an execution to end and gives its output, or "error: cause".
func (w *world) result(arn string) string {
	w.Helper()
	var out *sfn.DescribeExecutionOutput
	w.until("the execution has ended", func() (ended bool) {
		var err error
		if out, err = w.sfn.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &arn}); err != nil {
			w.Fatal(err)
		}

		return out.Status != sfntypes.ExecutionStatusRunning
	})

	if out.Status == sfntypes.ExecutionStatusSucceeded {
		return aws.ToString(out.Output)
	}

	return aws.ToString(out.Error) + ": " + aws.ToString(out.Cause)
}

func (w *world) until(what string, ok func() bool) {
	w.Helper()

	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.Fatalf("gave up waiting until %s", what)
		}
		worker.Wait(context.Background(), time.Millisecond)
	}
}
