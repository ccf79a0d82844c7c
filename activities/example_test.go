package activities_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/activities"
	"ratchet/embedded"
)

func ExampleWorker() {
	dir, err := os.MkdirTemp("", "activities")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	client := sfn.NewFromConfig(engine.AWSConfig()) // could as well be AWS

	ctx, stop := context.WithCancel(context.Background())

	activity, err := client.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("greet")})
	if err != nil {
		log.Fatal(err)
	}

	machine, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("hello"), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
		Definition: aws.String(fmt.Sprintf(`{"StartAt": "Greet", "States": {"Greet": {
			"Type": "Task", "Resource": %q, "HeartbeatSeconds": 30, "End": true}}}`, *activity.ActivityArn)),
	})
	if err != nil {
		log.Fatal(err)
	}

	worker, err := activities.New(activities.Config{
		SFN:       client,
		PollGrace: -1, // the engine is in this process: no token can be lost on a wire
		Log:       slog.New(slog.DiscardHandler),
		Events:    activities.Events{Done: func(d activities.Done) { fmt.Println(d.Outcome); stop() }},
	})
	if err != nil {
		log.Fatal(err)
	}

	type input struct{ Name string }

	greet := func(_ context.Context, in input) (string, error) { return "hello, " + strings.ToLower(in.Name), nil }
	if err := activities.Register(worker, activities.Activity{ARN: *activity.ActivityArn, Heartbeat: 30 * time.Second}, greet); err != nil {
		log.Fatal(err)
	}

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return engine.Run(gctx) })
	g.Go(func() error { return worker.Run(gctx) })

	execution, err := client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: machine.StateMachineArn, Input: aws.String(`{"name": "WORLD"}`)})
	if err != nil {
		log.Fatal(err)
	}

	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}

	out, err := client.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: execution.ExecutionArn})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*out.Output)
	// Output:
	// succeeded
	// "hello, world"
}
