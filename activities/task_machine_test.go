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

// taskMachine is an embedded engine with one activity and a state machine around it.
type taskMachine struct {
	testing.TB
	engine    *embedded.Engine
	sfn       *sfn.Client // without faults
	transport *embeddedtest.Transport
	activity  string
	machine   string

	mu   sync.Mutex
	done []Done // the tasks that have ended
}

// newTaskMachine makes a state machine with one task. The argument holds further members of
// its state, as `"HeartbeatSeconds": 3,`.
func newTaskMachine(t testing.TB, task string) *taskMachine {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	m := &taskMachine{
		TB:        t,
		engine:    engine,
		sfn:       sfn.NewFromConfig(engine.AWSConfig()),
		transport: embeddedtest.NewTransport(engine.HTTPClient()),
	}

	act, err := m.sfn.CreateActivity(context.Background(), &sfn.CreateActivityInput{Name: aws.String("greet")})
	if err != nil {
		t.Fatal(err)
	}
	m.activity = *act.ActivityArn
	asl := fmt.Sprintf(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":%q,%s"End":true}}}`, m.activity, task)

	sm, err := m.sfn.CreateStateMachine(context.Background(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: &asl, RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
	})
	if err != nil {
		t.Fatal(err)
	}
	m.machine = *sm.StateMachineArn

	return m
}

// config serves the activity with handle, through the transport.
func (m *taskMachine) config(handle HandlerFunc, edit ...func(*Config)) Config {
	c := m.engine.AWSConfig()
	c.HTTPClient = m.transport

	cfg := Config{
		SFN:          sfn.NewFromConfig(c),
		Activities:   []Activity{{ARN: m.activity, Handle: handle, Slots: 4, Pollers: 2}},
		WorkerName:   "w",
		ErrorPrefix:  "Order.",
		PollGrace:    -1,
		DrainTimeout: 2 * time.Second,
		drainGrace:   500 * time.Millisecond,
		Log:          embeddedtest.Quiet(),
		Events:       Events{Done: m.note},
	}
	for _, e := range edit {
		e(&cfg)
	}

	return cfg
}

func (m *taskMachine) note(d Done) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, d)
}

// ends waits for n tasks to end and returns them.
func (m *taskMachine) ends(n int) []Done {
	m.Helper()
	var got []Done
	m.until(fmt.Sprintf("%d tasks have ended", n), func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		got = append([]Done(nil), m.done...)
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

func (m *taskMachine) start(cfg Config) *running {
	m.Helper()
	r := begin(m.TB, cfg)
	m.Cleanup(func() { _ = r.stop() })
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
func (m *taskMachine) execute(input string) (arn string) {
	m.Helper()

	out, err := m.sfn.StartExecution(context.Background(), &sfn.StartExecutionInput{StateMachineArn: &m.machine, Input: &input})
	if err != nil {
		m.Fatal(err)
	}

	return *out.ExecutionArn
}

// result waits for an execution to end and gives its output, or "error: cause".
func (m *taskMachine) result(arn string) string {
	m.Helper()
	var out *sfn.DescribeExecutionOutput
	m.until("the execution has ended", func() (ended bool) {
		var err error
		if out, err = m.sfn.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &arn}); err != nil {
			m.Fatal(err)
		}

		return out.Status != sfntypes.ExecutionStatusRunning
	})

	if out.Status == sfntypes.ExecutionStatusSucceeded {
		return aws.ToString(out.Output)
	}

	return aws.ToString(out.Error) + ": " + aws.ToString(out.Cause)
}

func (m *taskMachine) until(what string, ok func() bool) {
	m.Helper()

	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			m.Fatalf("gave up waiting until %s", what)
		}
		worker.Wait(context.Background(), time.Millisecond)
	}
}
