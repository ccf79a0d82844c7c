package activitiestest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/activities"
	"ratchet/embedded/embeddedtest"
)

// Task says what to run, and which faults occur during the run. Activity.Handle is required.
type Task struct {
	// Activity has the handler, its Heartbeat and its Timeout. The ARN is not needed.
	Activity activities.Activity
	// Input is encoded as JSON. Default: an empty object.
	Input any
	// TimeoutAfter is TimeoutSeconds of the state. Fractions of a second are dropped. 0: an hour.
	TimeoutAfter time.Duration
	// StopAfter is when the worker is asked to stop. 0: when the task has ended.
	StopAfter time.Duration
	// Faults apply to the worker's calls: heartbeats that are throttled, answers whose response is
	// lost, and so on.
	Faults []embeddedtest.Fault
	// Config may change the worker's configuration: ErrorPrefix, Middleware, Offload.
	Config func(*activities.Config)
}

// Result describes the end of a task.
type Result struct {
	// Done is the end of the task as the worker knows it.
	Done activities.Done
	// Output is the task's output, if it succeeded. Else Error and Cause describe its failure; after a
	// time-out, Error is States.Timeout. All three are empty for a parked task.
	Output       json.RawMessage
	Error, Cause string
	// Heartbeats are the times since the start at which heartbeats were accepted.
	Heartbeats []time.Duration
	// Progress has every progress that the handler recorded.
	Progress []any
	// Stop is the result of the worker's Run.
	Stop error
}

// Run runs one task to its end, in virtual time, and describes that end. The test fails if the task
// cannot be started.
func Run(t *testing.T, task Task) Result {
	t.Helper()

	var result Result
	synctest.Test(t, func(t *testing.T) { result = run(t, task) })

	return result
}

func run(t *testing.T, task Task) (result Result) {
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	service := sfn.NewFromConfig(engine.AWSConfig())
	execution := start(t, service, &task)
	began := time.Now()

	// Only this client gets the faults; start and read use the other one.
	client := engine.AWSConfig()
	transport := embeddedtest.Intercept(&client)

	for _, f := range task.Faults {
		transport.Inject(f)
	}

	var mu sync.Mutex // guards result
	done := make(chan activities.Done, 1)

	worker, err := activities.New(task.config(activities.Config{
		SFN:        sfn.NewFromConfig(client),
		Activities: []activities.Activity{task.Activity},
		PollGrace:  -1,
		Log:        embeddedtest.Quiet(),
		Events: activities.Events{
			Done: func(d activities.Done) { done <- d },
			Heartbeat: func(_ activities.Task, err error) {
				mu.Lock()
				defer mu.Unlock()

				if err == nil {
					result.Heartbeats = append(result.Heartbeats, time.Since(began))
				}
			},
			Progress: func(_ activities.Task, progress any) {
				mu.Lock()
				defer mu.Unlock()
				result.Progress = append(result.Progress, progress)
			},
		},
	}))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	if task.StopAfter > 0 {
		time.AfterFunc(task.StopAfter, stop)
	}

	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	ended := <-done
	stop()
	// Run has returned now, so no hook can still write to result.
	stopped := <-ran

	mu.Lock()
	defer mu.Unlock()
	result.Done, result.Stop = ended, stopped

	// The execution of a parked task has no end to wait for.
	if ended.Outcome != activities.Parked {
		result.read(t, service, execution)
	}

	return result
}

// config adds the caller's changes.
func (t *Task) config(cfg activities.Config) activities.Config {
	if t.Config != nil {
		t.Config(&cfg)
	}

	return cfg
}

// start creates the activity and a state machine around it, and starts an execution.
func start(t *testing.T, service *sfn.Client, task *Task) (execution string) {
	t.Helper()

	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatalf("activitiestest: %v", err)
		}
	}

	activity, err := service.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("activity")})
	must(err)
	task.Activity.ARN = *activity.ActivityArn

	// Without TimeoutSeconds a lost task would last for 99,999,999 s, the default of ASL.
	state := map[string]any{"Type": "Task", "Resource": task.Activity.ARN, "End": true, "TimeoutSeconds": 3600}
	if task.TimeoutAfter > 0 {
		state["TimeoutSeconds"] = int(task.TimeoutAfter / time.Second)
	}

	if task.Activity.Heartbeat > 0 {
		state["HeartbeatSeconds"] = int(task.Activity.Heartbeat / time.Second)
	}

	definition, err := json.Marshal(map[string]any{"StartAt": "Task", "States": map[string]any{"Task": state}})
	must(err)

	machine, err := service.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name:       aws.String("machine"),
		Definition: aws.String(string(definition)),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/any"),
	})
	must(err)

	input := []byte(`{}`)
	if task.Input != nil {
		input, err = json.Marshal(task.Input)
		must(err)
	}

	out, err := service.StartExecution(t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: machine.StateMachineArn,
		Input:           aws.String(string(input)),
	})
	must(err)

	return *out.ExecutionArn
}

// read waits for the end of the execution. If the task is lost, the execution ends by the task's
// time-out.
func (r *Result) read(t *testing.T, service *sfn.Client, execution string) {
	t.Helper()

	for {
		out, err := service.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
		if err != nil {
			t.Fatal(fmt.Errorf("activitiestest: %w", err))
		}

		if out.Status != sfntypes.ExecutionStatusRunning {
			r.Error, r.Cause = aws.ToString(out.Error), aws.ToString(out.Cause)

			if out.Output != nil {
				r.Output = json.RawMessage(*out.Output)
			}

			return
		}
		// Virtual time: the bubble skips the wait when nothing else runs.
		time.Sleep(time.Second)
	}
}
