package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded"
	"ratchet/internal/worker"
)

// world is an embedded engine with one activity and a state machine around it.
type world struct {
	testing.TB
	engine   *embedded.Engine
	sfn      *sfn.Client
	faults   *faults
	activity string
	machine  string
	// done collects the ends of tasks.
	mu   sync.Mutex
	done []Done
}

// newWorld makes a machine of one task; task holds further members of its state,
// e.g. `"HeartbeatSeconds": 3,`.
func newWorld(t testing.TB, task string) *world {
	t.Helper()

	engine, err := embedded.Open(embedded.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()

		if err := errors.Join(<-ran, engine.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &world{TB: t, engine: engine, faults: &faults{next: engine.HTTPClient().Transport, calls: map[string]int{}}}
	cfg := engine.AWSConfig()
	w.sfn = sfn.NewFromConfig(cfg)

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

// config serves the activity with handle, through the faulty transport.
func (w *world) config(handle HandlerFunc, edit ...func(*Config)) Config {
	ac := w.engine.AWSConfig()
	ac.HTTPClient = &http.Client{Transport: w.faults}

	cfg := Config{
		SFN:        sfn.NewFromConfig(ac),
		Activities: []Activity{{ARN: w.activity, Handle: handle, Slots: 4, Pollers: 2}},
		WorkerName: "w", ErrorPrefix: "Order.", PollGrace: -1,
		DrainTimeout: 2 * time.Second, DrainGrace: 500 * time.Millisecond,
		Log:    slog.New(slog.DiscardHandler),
		Events: Events{Done: w.note},
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

	worker, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Worker: worker, done: make(chan struct{})}
	var ran error
	go func() { defer close(r.done); ran = worker.Run(ctx) }()
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
			w.Fatalf("waited in vain until %s", what)
		}
		worker.Wait(context.Background(), time.Millisecond)
	}
}

// faults is a transport in front of the engine's own that loses or refuses what
// a test asks for.
type faults struct {
	next  http.RoundTripper
	mu    sync.Mutex
	rule  func(op, body string) error
	calls map[string]int
}

// A refusal answers with an AWS error of that code.
type awsRefusal string

func (e awsRefusal) Error() string { return string(e) }

var errLostResponse = errors.New("response lost")

func (f *faults) set(rule func(op, body string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = rule
}

func (f *faults) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	rule := f.rule
	f.calls[op]++
	f.mu.Unlock()
	var refusal awsRefusal

	if rule != nil {
		err = rule(op, string(body))
	}

	switch {
	case errors.As(err, &refusal):
		text, _ := json.Marshal(map[string]string{"__type": string(refusal), "message": "by the test"})
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(bytes.NewReader(text)), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
	case errors.Is(err, errLostResponse):
		if resp, rerr := f.next.RoundTrip(r); rerr == nil {
			_ = resp.Body.Close()
		}
		return nil, err
	case err != nil:
		return nil, err
	}

	return f.next.RoundTrip(r)
}
