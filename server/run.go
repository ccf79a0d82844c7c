package server

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet"
	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Run is one worker: it serves every activity, polls the orders' stream and takes
// requests from the queue, if there is one, until ctx ends, then drains. The name shows
// in execution histories and leases.
func (b *Backend) Run(ctx context.Context, name string) error {
	if err := b.checkDefinition(); err != nil {
		return err
	}

	worker, err := b.worker(ctx, name)
	if err != nil {
		return err
	}

	consumer, err := b.requests(ctx)
	if err != nil {
		return err
	}

	poller, release, err := b.poller(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return worker.Run(ctx) })
	group.Go(func() error { return poller.Run(ctx) })
	group.Go(func() error { return b.Stock.Run(ctx) })
	group.Go(func() error { return b.sweepMoney(ctx) })

	if consumer != nil {
		group.Go(func() error { return consumer.Run(ctx) })
	}

	return group.Wait()
}

// worker builds the activity worker, with heartbeats as the state machine asks.
func (b *Backend) worker(ctx context.Context, name string) (*activities.Worker, error) {
	timings, err := steps.Timings(ratchet.StateMachine)
	if err != nil {
		return nil, err
	}

	arns, err := b.activityARNs(ctx)
	if err != nil {
		return nil, err
	}

	s, err := steps.New(steps.Config{
		Orders:  b.Orders,
		Stock:   b.Stock,
		Gateway: b.Gateway,
		Booker:  b.Booker,
		Parked:  b.Parked,
		ParkFor: parkFor,
	})
	if err != nil {
		return nil, err
	}

	var served []activities.Activity
	for _, step := range s.All() {
		t, used := timings[step.Placeholder]
		if !used {
			return nil, fmt.Errorf("no state of statemachine.asl.json uses ${%s}", step.Placeholder)
		}

		timeout := t.Timeout * 9 / 10
		if timeout == 0 {
			timeout = parkTimeout
		}
		served = append(served, activities.Activity{ARN: arns[step.Placeholder], Name: step.Name, Handle: step.Handle,
			Slots: b.Config.Slots, Pollers: max(1, b.Config.Slots/4), Heartbeat: t.Heartbeat, Timeout: timeout})
	}

	cfg := activities.Config{SFN: b.SFN, Activities: served, WorkerName: name, ErrorPrefix: steps.ErrorPrefix, Log: b.log, Events: activityEvents(b.log)}
	if b.Engine != nil {
		// The engine is in this process and gives no task to a poll that has ended, so
		// a stop need not wait for open polls.
		cfg.PollGrace = -1
	}

	return activities.New(cfg)
}

// parkFor is when a parked token is past use: the state machine gives an execution 30
// days.
const parkFor = 31 * 24 * time.Hour

// parkTimeout bounds the parking of a token; the states that wait have no time-out of
// their own that would.
const parkTimeout = 10 * time.Second

// embeddedLease is how long a restarted worker waits for the leases of its killed
// predecessor.
const embeddedLease = 2 * time.Second

// Handlers are what reacts to transitions.
func (b *Backend) Handlers() []streams.Handler {
	return b.reactions.Handlers()
}

// poller builds the stream poller. On the embedded engine it is woken by commits
// instead of asking; release ends that.
func (b *Backend) poller(ctx context.Context, name string) (p *streams.Poller, release func(), err error) {
	cfg := streams.Config{
		Streams:         b.Streams,
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		LeaseTable:      b.Tables.Leases,
		DeadLetterTable: b.Tables.DeadLetters,
		Owner:           name,
		Handlers:        b.Handlers(),
		NeedImages:      true, // the handlers compare the order before and after
		Log:             b.log,
		Events:          streamEvents(b.log),
	}
	release = func() {}
	if b.Engine != nil {
		table, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
		if err != nil {
			return nil, nil, fmt.Errorf("describe table %s: %w", b.Tables.Orders, err)
		}
		// Whoever held a shard's lease before this process is dead: only one process can
		// have the data directory open.
		cfg.LeaseDuration = embeddedLease
		if cfg.Hint, release, err = b.Engine.WatchStream(aws.ToString(table.Table.LatestStreamArn)); err != nil {
			return nil, nil, err
		}
	}

	if p, err = streams.New(cfg); err != nil {
		release()
		return nil, nil, err
	}

	return p, release, nil
}

// takeReport is where the sandbox carrier's callbacks arrive: each is a transition
// request under the report's own id, so a repeated report is Replayed.
func (b *Backend) takeReport(ctx context.Context, r sandbox.Report) (sandbox.Answer, error) {
	event, then := workflow.Ship, workflow.Shipped
	if r.Milestone == sandbox.Delivered {
		event, then = workflow.Deliver, workflow.Delivered
	}

	result, err := b.Orders.Apply(ctx, transitions.Request{OrderID: transitions.OrderID(r.OrderID), Event: event, RequestID: transitions.RequestID(r.ID)})
	switch {
	case err != nil:
		return sandbox.Retry, err
	case result.Verdict.Done():
		return sandbox.Accepted, nil
	case result.Verdict == transitions.WrongState && b.Orders.Definition().Reachable(result.Order.State, then) && result.Order.State != then:
		return sandbox.Retry, nil // not paid yet, held, or shipped out of order
	}

	return sandbox.Rejected, nil
}
