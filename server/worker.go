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
		return unlessStopped(ctx, err)
	}

	consumer, err := b.newRequestsConsumer(ctx)
	if err != nil {
		return unlessStopped(ctx, err)
	}

	poller, release, err := b.newPoller(ctx, name)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer release()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return worker.Run(ctx) })
	group.Go(func() error { return poller.Run(ctx) })
	group.Go(func() error { return b.Stock.Run(ctx) })
	group.Go(func() error { return b.sweep(ctx, "holds and payments", b.releaseExpired, b.recoverPayments) })

	if b.Carrier == nil {
		// A loop of its own, because a carrier that hangs must not delay the other sweeps. The
		// sandbox repeats its reports itself.
		group.Go(func() error { return b.sweep(ctx, "the carrier's reports", b.Reports.Sweep) })
	}

	group.Go(func() error { return b.Deliveries.Run(ctx) })

	group.Go(func() error { return b.rebuildLists(ctx) })

	if consumer != nil {
		group.Go(func() error { return consumer.Run(ctx) })
	}

	return group.Wait()
}

// unlessStopped returns err, or nil if ctx has ended: a worker that is stopped before it has begun
// has not failed.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}

	return err
}

// tokenRetention is how long the parked token of an execution of the former state machine is
// kept. That machine gave an execution 30 days, so after 31 the token is useless.
const tokenRetention = 31 * 24 * time.Hour

// oldSlots bounds the tasks of one activity of the former state machine. Few are left.
const oldSlots = 4

// newWorker builds the activity worker. Time-outs and heartbeats come from the state
// machine.
func (b *Backend) newWorker(ctx context.Context, name string) (*activities.Worker, error) {
	arns, err := b.createActivities(ctx)
	if err != nil {
		return nil, err
	}

	orderSteps, err := b.newSteps()
	if err != nil {
		return nil, err
	}

	timings, err := steps.Timings(ratchet.StateMachine)
	if err != nil {
		return nil, err
	}

	var served []activities.Activity
	for _, step := range orderSteps.All() {
		timing, used := timings[step.Placeholder]
		if !used {
			return nil, fmt.Errorf("no state of statemachine.asl.json uses ${%s}", step.Placeholder)
		}

		step.Timing = timing
		served = append(served, serve(step, arns, b.Config.Slots))
		delete(timings, step.Placeholder)
	}

	for placeholder := range timings {
		return nil, fmt.Errorf("no step serves ${%s} of statemachine.asl.json", placeholder)
	}

	for _, step := range orderSteps.Old() {
		served = append(served, serve(step, arns, min(b.Config.Slots, oldSlots)))
	}

	cfg := activities.Config{
		SFN:         b.SFN,
		Activities:  served,
		WorkerName:  name,
		ErrorPrefix: steps.ErrorPrefix,
		Log:         b.log,
		Events:      activityEvents(b.log),
	}

	rate := float64(b.Config.CallsPerSecond)
	if b.Engine != nil {
		// The engine runs in this process and gives no task to a poll that has ended, so
		// a stop does not have to wait for open polls.
		cfg.PollGrace = -1

		if rate == 0 {
			rate = -1 // and it has no quotas
		}
	}
	cfg.Rates = activities.EachAt(rate)

	return activities.New(cfg)
}

func (b *Backend) newSteps() (*steps.Steps, error) {
	return steps.New(steps.Config{
		Orders:   b.Orders,
		Stock:    b.Stock,
		Payments: b.Payments,
		Ledger:   b.Ledger,
		Capture:  b.Config.PaymentMode == PaymentCapture,
		Booker:   b.Booker,
		Gateway:  b.Bank,
		Parked:   b.ParkedTasks,
		ParkFor:  tokenRetention,
	})
}

// serve returns the activity of a step. Its handler must end before Step Functions gives the
// task up, or its answer would come too late.
func serve(step steps.Step, arns map[string]string, slots int) activities.Activity {
	return activities.Activity{
		ARN:       arns[step.Placeholder],
		Name:      step.Name,
		Handle:    step.Handle,
		Slots:     slots,
		Pollers:   max(1, slots/4),
		Heartbeat: step.Timing.Heartbeat,
		Timeout:   step.Timing.Timeout * 9 / 10,
	}
}
