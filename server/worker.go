package server

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet"
	"ratchet/activities"
	"ratchet/activities/steps"
)

// Run runs one worker until ctx ends, and then waits until its work in hand is done. The
// worker serves every activity, polls the orders' stream, takes requests from the queue
// if one is configured, and sweeps expired reservations, holds and open payments. The
// name appears in execution histories and leases.
func (b *Backend) Run(ctx context.Context, name string) error {
	if err := b.checkDefinition(); err != nil {
		return err
	}

	worker, err := b.newWorker(ctx, name)
	if err != nil {
		return err
	}

	consumer, err := b.newRequestsConsumer(ctx)
	if err != nil {
		return err
	}

	poller, release, err := b.newPoller(ctx, name)
	if err != nil {
		return err
	}
	defer release()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return worker.Run(ctx) })
	group.Go(func() error { return poller.Run(ctx) })
	group.Go(func() error { return b.Stock.Run(ctx) })
	group.Go(func() error { return b.runSweeps(ctx) })

	group.Go(func() error { return b.rebuildLists(ctx) })

	if consumer != nil {
		group.Go(func() error { return consumer.Run(ctx) })
	}

	return group.Wait()
}

// tokenRetention is how long a parked token is kept. The state machine gives an execution
// 30 days, so after 31 the token is useless.
const tokenRetention = 31 * 24 * time.Hour

// parkTimeout is the time limit for storing a token. The states that wait have no
// time-out of their own to take it from.
const parkTimeout = 10 * time.Second

// newWorker builds the activity worker. Time-outs and heartbeats come from the state
// machine.
func (b *Backend) newWorker(ctx context.Context, name string) (*activities.Worker, error) {
	timings, err := steps.Timings(ratchet.StateMachine)
	if err != nil {
		return nil, err
	}

	arns, err := b.createActivities(ctx)
	if err != nil {
		return nil, err
	}

	orderSteps, err := steps.New(steps.Config{
		Orders:  b.Orders,
		Stock:   b.Stock,
		Gateway: b.Bank,
		Booker:  b.Booker,
		Parked:  b.ParkedTasks,
		ParkFor: tokenRetention,
	})
	if err != nil {
		return nil, err
	}

	var served []activities.Activity
	for _, step := range orderSteps.All() {
		timing, used := timings[step.Placeholder]
		if !used {
			return nil, fmt.Errorf("no state of statemachine.asl.json uses ${%s}", step.Placeholder)
		}

		// The handler must end before Step Functions gives the task up, or its answer
		// would come too late.
		timeout := timing.Timeout * 9 / 10
		if timeout == 0 {
			timeout = parkTimeout
		}

		served = append(served, activities.Activity{
			ARN:       arns[step.Placeholder],
			Name:      step.Name,
			Handle:    step.Handle,
			Slots:     b.Config.Slots,
			Pollers:   max(1, b.Config.Slots/4),
			Heartbeat: timing.Heartbeat,
			Timeout:   timeout,
		})
	}

	cfg := activities.Config{
		SFN:         b.SFN,
		Activities:  served,
		WorkerName:  name,
		ErrorPrefix: steps.ErrorPrefix,
		Log:         b.log,
		Events:      activityEvents(b.log),
	}
	if b.Engine != nil {
		// The engine runs in this process and gives no task to a poll that has ended, so
		// a stop does not have to wait for open polls. It has no quotas, either.
		cfg.PollGrace = -1
		cfg.Rates = activities.Rates{GetActivityTask: -1, SendTaskSuccess: -1, SendTaskFailure: -1, SendTaskHeartbeat: -1}
	}

	return activities.New(cfg)
}
