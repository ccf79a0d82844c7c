package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
)

// noopStates is a machine of four activities that do nothing.
const noopStates = `{"StartAt":"A","States":{
	"A":{"Type":"Task","Resource":%[1]q,"HeartbeatSeconds":30,"Next":"B"},
	"B":{"Type":"Task","Resource":%[1]q,"HeartbeatSeconds":30,"Next":"C"},
	"C":{"Type":"Task","Resource":%[1]q,"HeartbeatSeconds":30,"Next":"D"},
	"D":{"Type":"Task","Resource":%[1]q,"HeartbeatSeconds":30,"End":true}}}`

const noopTasks = 4

// benchExecutions measures executions of four activities that do nothing, with 1, 32 and 64
// clients. Each client starts an execution, then takes and answers four tasks, its own or
// another's.
func benchExecutions(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) ([]figure, error) { return benchNoop(ctx, work, dir) })
}

func benchNoop(ctx context.Context, work size, dir string) (figures []figure, err error) {
	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	noop, err := newNoop(ctx, sfn.NewFromConfig(engine.AWSConfig()))
	if err != nil {
		return nil, err
	}

	for _, clients := range []int{1, 32, 64} {
		// A single client is slow, so it gets half as many executions.
		n := work.orders * min(clients, 2) / 2
		if err := noop.run(ctx, clients, clients*4); err != nil { // warms up
			return nil, err
		}

		// The hops of the warm-up do not count.
		noop.hops = nil
		began := time.Now()

		if err := noop.run(ctx, clients, n); err != nil {
			return nil, err
		}

		figures = append(figures, figure{
			name:  fmt.Sprintf("executions_per_second_%d", clients),
			value: float64(n) / time.Since(began).Seconds(),
			unit:  "1/s",
			about: fmt.Sprintf("executions of four activities that do nothing, %d clients, synced to disk", clients),
		})

		// With more clients, a task that follows may be another execution's.
		if clients == 1 {
			slices.Sort(noop.hops)
			figures = append(figures, figure{
				name:  "hop_p50_ms",
				value: float64(noop.hops[len(noop.hops)/2].Microseconds()) / 1000,
				unit:  "ms",
				about: "from the answer of a task to the next task, one client",
			})
		}
	}

	return figures, nil
}

// noopRate returns how many executions of four activities that do nothing end in a second,
// with 64 clients.
func noopRate(ctx context.Context, executions int) (rate float64, err error) {
	noop, stop, err := openNoop(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	const clients = 64
	if err := noop.run(ctx, clients, clients*4); err != nil { // warms up
		return 0, err
	}
	began := time.Now()
	err = noop.run(ctx, clients, executions)

	return float64(executions) / time.Since(began).Seconds(), err
}

// openNoop opens an engine of its own with the machine that does nothing.
func openNoop(ctx context.Context) (_ *noop, stop func() error, err error) {
	engine, stop, err := openEmbedded(embedded.Config{})
	if err != nil {
		return nil, nil, err
	}

	n, err := newNoop(ctx, sfn.NewFromConfig(engine.AWSConfig()))
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}

	return n, stop, nil
}

// noop runs executions that do nothing.
type noop struct {
	sfn               *sfn.Client
	machine, activity string
	// hops are the times from an answer to the next task, with one client.
	hops []time.Duration
}

func newNoop(ctx context.Context, client *sfn.Client) (*noop, error) {
	activity, err := client.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("noop")})
	if err != nil {
		return nil, err
	}

	machine, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name:       aws.String("noop"),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/bench"),
		Definition: aws.String(fmt.Sprintf(noopStates, *activity.ActivityArn)),
	})
	if err != nil {
		return nil, err
	}

	return &noop{sfn: client, machine: *machine.StateMachineArn, activity: *activity.ActivityArn}, nil
}

// run runs n executions to their ends.
func (b *noop) run(ctx context.Context, clients, n int) error {
	var started atomic.Int64

	group, ctx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			// Counted before the start, so exactly n executions are started.
			for started.Add(1) <= int64(n) {
				if err := b.one(ctx, clients == 1); err != nil {
					return err
				}
			}

			return nil
		})
	}

	return group.Wait()
}

// one starts an execution and answers four tasks, which may belong to other executions. Every
// client answers as many tasks as it causes, so all executions end.
func (b *noop) one(ctx context.Context, timed bool) error {
	input, output := `{"orderId":"o-1","total":{"amount":1250,"currency":"EUR"}}`, `{"orderId":"o-1","transitionId":2}`

	if _, err := b.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &b.machine, Input: &input}); err != nil {
		return err
	}

	answered := time.Time{}
	for range noopTasks {
		task, err := b.sfn.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: &b.activity})
		if err != nil {
			return err
		}

		// The time from the start of the execution to its first task is no hop.
		if timed && !answered.IsZero() {
			b.hops = append(b.hops, time.Since(answered))
		}

		// Taken before the call: the engine may hand out the next task before the answer arrives.
		answered = time.Now()

		if _, err := b.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: task.TaskToken, Output: &output}); err != nil {
			return err
		}
	}

	return nil
}
