package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/activities"
	"ratchet/embedded/embeddedtest"
)

// startTask starts an execution with one task and returns the ARNs of the activity and of the
// execution.
func startTask(client *sfn.Client) (activity, execution string) {
	ctx := context.Background()

	made, err := client.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("work")})
	if err != nil {
		panic(err)
	}

	machine, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("one-task"), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
		Definition: aws.String(fmt.Sprintf(`{"StartAt": "Work", "States": {"Work": {"Type": "Task", "Resource": %q, "End": true}}}`, *made.ActivityArn)),
	})
	if err != nil {
		panic(err)
	}

	started, err := client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: machine.StateMachineArn, Input: aws.String(`{"order": "o-1"}`)})
	if err != nil {
		panic(err)
	}

	return *made.ActivityArn, *started.ExecutionArn
}

func outputOf(client *sfn.Client, execution string) string {
	out, err := client.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
	if err != nil {
		panic(err)
	}

	return aws.ToString(out.Output)
}

// serve runs a worker with one handler until its task has ended.
func serve(cfg activities.Config, arn string, handle activities.HandlerFunc) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	cfg.Activities = []activities.Activity{{ARN: arn, Handle: handle}}
	cfg.PollGrace, cfg.Log = -1, embeddedtest.Quiet()
	done := cfg.Events.Done
	cfg.Events.Done = func(d activities.Done) {
		if done != nil {
			done(d)
		}

		stop()
	}

	worker, err := activities.New(cfg)
	if err != nil {
		return err
	}

	return worker.Run(ctx)
}

// An output that is too large for Step Functions goes to a store, and a pointer in its place.
func ExampleConfig_offload() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sfn.NewFromConfig(cfg)
	activity, execution := startTask(client)

	err := serve(activities.Config{
		SFN: client,
		Offload: func(_ context.Context, _ activities.Task, output json.RawMessage) (json.RawMessage, error) {
			fmt.Println("stored", len(output), "bytes")
			return json.RawMessage(`{"stored":"s3://outputs/1"}`), nil
		},
	}, activity, func(context.Context, activities.Task) (any, error) { return strings.Repeat("x", 300_000), nil })

	fmt.Println(outputOf(client, execution), err)
	// Output:
	// stored 300002 bytes
	// {"stored":"s3://outputs/1"} <nil>
}

// The service accepted the answer, and its response was lost. The repeat comes too late, so the
// worker does not know which answer counted. Resolve finds the effect of the handler.
func ExampleConfig_resolve() {
	for _, resolve := range []bool{false, true} {
		cfg, closeAll := embeddedtest.OpenExample()
		client := sfn.NewFromConfig(cfg)
		activity, _ := startTask(client)

		cfg.Retryer = embeddedtest.NoRetries
		embeddedtest.Intercept(&cfg).Inject(embeddedtest.LoseAnswer("SendTaskSuccess").Next(1))

		worker := activities.Config{
			SFN: sfn.NewFromConfig(cfg),
			Events: activities.Events{
				Unresolved: func(d activities.Done) { fmt.Println("unresolved:", d.Outcome) },
				Done:       func(d activities.Done) { fmt.Println("done:", d.Outcome) },
			},
		}
		if resolve {
			worker.Resolve = func(context.Context, activities.Done) (activities.Outcome, error) { return activities.Succeeded, nil }
		}

		_ = serve(worker, activity, func(context.Context, activities.Task) (any, error) { return "charged", nil })
		closeAll()
	}
	// Output:
	// unresolved: unknown
	// done: unknown
	// done: succeeded
}

// After a stop, a running handler may go on for 10 ms. Then its context ends, and the task is
// given back.
func ExampleConfig_drainTimeout() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sfn.NewFromConfig(cfg)
	activity, _ := startTask(client)
	ctx, stop := context.WithCancel(context.Background())

	worker, err := activities.New(activities.Config{
		SFN:          client,
		DrainTimeout: 10 * time.Millisecond,
		PollGrace:    -1,
		Log:          embeddedtest.Quiet(),
		Activities: []activities.Activity{{ARN: activity, Handle: func(ctx context.Context, _ activities.Task) (any, error) {
			stop()
			<-ctx.Done()

			return nil, context.Cause(ctx)
		}}},
		Events: activities.Events{Done: func(d activities.Done) { fmt.Println(d.Outcome, d.ErrorName) }},
	})
	if err != nil {
		panic(err)
	}

	fmt.Println("forced:", errors.Is(worker.Run(ctx), activities.ErrForced))
	// Output:
	// failed Worker.WorkerShutdown
	// forced: true
}

// A typed handler gets its input decoded. It finds the task in its context, and records how far
// it has come.
func ExampleTyped() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sfn.NewFromConfig(cfg)
	activity, execution := startTask(client)

	type input struct {
		Order string `json:"order"`
	}

	var mu sync.Mutex

	handle := activities.Typed(func(ctx context.Context, in input) (string, error) {
		task, ok := activities.TaskFrom(ctx)
		fmt.Println("the task's input:", string(task.Input), ok)

		for _, step := range []string{"pick", "pack"} {
			if err := activities.RecordHeartbeat(ctx, step); err != nil {
				return "", err // the task is lost, or the worker stops
			}
		}

		return in.Order + " is packed", nil
	})

	err := serve(activities.Config{SFN: client, Events: activities.Events{
		Progress: func(_ activities.Task, progress any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Println("progress:", progress)
		},
	}}, activity, handle)

	fmt.Println(outputOf(client, execution), err)
	// Output:
	// the task's input: {"order": "o-1"} true
	// progress: pick
	// progress: pack
	// "o-1 is packed" <nil>
}

// A handler has parked its task. Another program answers it by its token. The output is too
// large for Step Functions and cannot be stored, so the task fails under the program's prefix.
func ExampleCompleter() {
	cfg, closeAll := embeddedtest.OpenExample()
	defer closeAll()

	client := sfn.NewFromConfig(cfg)
	activity, execution := startTask(client)

	var token activities.Token

	err := serve(activities.Config{SFN: client}, activity, func(_ context.Context, t activities.Task) (any, error) {
		token = t.Token
		return nil, activities.ErrParked
	})
	if err != nil {
		panic(err)
	}

	completer, err := activities.NewCompleter(activities.CompleterConfig{
		SFN:         client,
		ErrorPrefix: "Packing.",
		Offload: func(context.Context, activities.Task, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("the store is full")
		},
	})
	if err != nil {
		panic(err)
	}

	outcome, err := completer.Succeed(context.Background(), token, strings.Repeat("x", 300_000))
	fmt.Println(outcome, err != nil)

	out, err := client.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
	fmt.Println(aws.ToString(out.Error), aws.ToString(out.Cause), err)
	// Output:
	// failed true
	// Packing.Unknown store the output of : the store is full <nil>
}
