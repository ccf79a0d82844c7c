package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/queues"
	"ratchet/streams/poller"
)

// Run runs one worker until ctx ends, and then waits until the work in progress is done. A worker
// serves every activity, polls the orders' stream, takes requests from the queue if one is configured,
// sends notifications, sweeps expired reservations, holds, open payments and reports of the
// carrier, and runs jobs. Parts selects some of these; without parts the worker runs all. The name appears in
// execution histories and leases. An unknown part is [ErrWorkerPart].
func (b *Backend) Run(ctx context.Context, name string, parts ...WorkerPart) (err error) {
	chosen, err := chosenParts(parts)
	if err := errors.Join(err, b.flow.fit(), b.checkSides()); err != nil {
		return err
	}
	b.logSandboxes(ctx)
	b.compareMachine(ctx)

	// Before the parts are built, so that the row of this process also shows a start that fails.
	end := b.beginParts(ctx, name, shownParts(chosen)...)
	defer func() { end(err) }()

	defer b.health.begin()()

	var worker *activities.Worker
	if chosen[PartActivities] {
		if worker, err = b.newWorker(ctx, name); err != nil {
			return unlessStopped(ctx, err)
		}
	}

	var consumer *queues.Consumer
	if chosen[PartRequests] {
		if consumer, err = b.newRequestsConsumer(ctx); err != nil {
			return unlessStopped(ctx, err)
		}
	}

	var poller *poller.Poller
	if chosen[PartStream] {
		var release func()
		if poller, release, err = b.newPoller(ctx, name); err != nil {
			return unlessStopped(ctx, err)
		}
		defer release()
		defer b.Telemetry.ObserveStream(poller.Lags)()
		defer b.lateness.follow(b.behind(poller))()
	}
	// The health gets all parts at once: a check in between would count a missing part as healthy.
	b.health.watch(worker, poller, consumer)

	group, ctx := errgroup.WithContext(ctx)
	if worker != nil {
		group.Go(func() error { return worker.Run(ctx) })
	}

	if consumer != nil {
		group.Go(func() error { return consumer.Run(ctx) })
	}

	if poller != nil {
		group.Go(func() error { return poller.Run(ctx) })
	}

	if chosen[PartNotifications] {
		group.Go(func() error { return b.Deliveries.Run(ctx) })
	}

	if chosen[PartSweeps] {
		b.startSweeps(ctx, group)
	}

	if chosen[PartJobs] {
		group.Go(func() error { return b.runJobs(ctx, name) })
	}

	// Requests may be refused in every part, so every worker writes refusals.
	group.Go(func() error { return b.Refusals.Run(ctx) })

	return group.Wait()
}

// startSweeps starts the sweeps, the rebuild of the lists and the counts of orders.
func (b *Backend) startSweeps(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return b.Stock.Run(ctx) })

	for what, sweeps := range b.sweeps() {
		group.Go(func() error { return b.sweep(ctx, what, sweeps...) })
	}

	group.Go(func() error { return b.rebuildLists(ctx) })
	group.Go(func() error { return b.beginTimers(ctx) })
	group.Go(func() error { return b.surveyStuck(ctx) })
	group.Go(func() error { return b.countOrders(ctx) })
}

// unlessStopped returns err, or nil if ctx has ended: if a worker is stopped while it starts, that is no
// failure.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}

	return err
}

// newWorker builds the activity worker. It returns nil if this process has no activity to serve.
// Time-outs and heartbeats come from the state machine.
func (b *Backend) newWorker(ctx context.Context, name string) (*activities.Worker, error) {
	arns, err := b.createActivities(ctx)
	if err != nil {
		return nil, err
	}

	served, err := b.servedActivities(arns)
	if err != nil {
		return nil, err
	}

	if len(served) == 0 {
		return nil, nil // other programs serve all activities
	}

	for _, activity := range served {
		b.Telemetry.ExpectActivity(activity.Name)
		b.health.tasks.limit(activity.Name, activity.Timeout)
	}

	cfg := activities.Config{
		SFN:         b.SFN,
		Activities:  served,
		WorkerName:  name,
		ErrorPrefix: steps.ErrorPrefix,
		Middleware:  []activities.Middleware{b.Tracing.Activity, b.health.tasks.middleware},
		Log:         b.log,
		Events:      b.Telemetry.ActivityEvents(b.health.activityEvents(activityEvents(b.log))),
	}

	// The engine gives no task to a poll that has ended, so a stop does not have to wait for open polls.
	if b.usesEngine(ctx) {
		cfg.PollGrace = -1
	}

	rate := float64(b.Config.CallsPerSecond)
	if b.Engine != nil && rate == 0 {
		rate = -1 // the engine in this process has no quotas
	}
	cfg.Rates = activities.EachAt(rate)

	return activities.New(cfg)
}

// usesEngine reports whether the embedded engine is the backend: in this process, or of another process at
// the endpoint.
func (b *Backend) usesEngine(ctx context.Context) bool {
	if b.Engine != nil || b.Config.EndpointURL == "" {
		return b.Engine != nil
	}

	ctx, cancel := context.WithTimeout(ctx, engineProbe)
	defer cancel()

	// Only the engine calls itself so in its answer to a call that no service has.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Config.EndpointURL, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	request.Header.Set("X-Amz-Target", "AWSStepFunctions.NameTheEngine")
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()

	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))

	return err == nil && strings.Contains(string(text), "is not supported by the embedded engine")
}

// engineProbe bounds the question whether the endpoint is an engine.
const engineProbe = 2 * time.Second

// servedActivities returns the activities of the state machine that this process serves.
func (b *Backend) servedActivities(arns map[string]string) ([]activities.Activity, error) {
	all, err := b.steps()
	if err != nil {
		return nil, err
	}

	timings, err := steps.Timings(b.flow.asl)
	if err != nil {
		return nil, err
	}

	var served []activities.Activity
	for _, step := range all {
		timing, used := timings[step.Placeholder]
		if !used {
			return nil, fmt.Errorf("no state of %s uses ${%s}", b.flow.file, step.Placeholder)
		}

		served = append(served, serve(step, timing, arns[step.Placeholder], b.Config.Slots))
		delete(timings, step.Placeholder)
	}

	for _, name := range b.flow.others {
		b.log.Info("an activity is left to workers of other programs", "activity", b.Config.Prefix+name)
		delete(timings, steps.NewActivity(name).Placeholder)
	}

	// Placeholders that are left belong neither to a step nor to another program.
	for placeholder := range timings {
		return nil, fmt.Errorf("no step serves ${%s} of %s", placeholder, b.flow.file)
	}

	return served, nil
}

// steps returns the steps that this process serves.
func (b *Backend) steps() (all []steps.Step, err error) {
	var builtIn []steps.Step

	if !b.flow.own {
		shop, err := b.newShopSteps()
		if err != nil {
			return nil, err
		}

		builtIn = shop.All()
		// The built-in state machine uses all of the shop's steps and no others. A test compares them.
		if !b.flow.changed {
			return builtIn, nil
		}
	}

	general, err := steps.NewGeneral(steps.GeneralConfig{Orders: b.Orders, Parked: b.ParkedTasks})
	if err != nil {
		return nil, err
	}

	for _, step := range general.All() {
		if b.flow.own || step.Name == applyStep {
			builtIn = append(builtIn, step)
		}
	}

	used := b.flow.placeholders()
	for _, step := range builtIn {
		if slices.Contains(used, step.Placeholder) {
			all = append(all, step)
		}
	}

	for _, step := range b.flow.steps {
		all = append(all, steps.Step{Activity: steps.NewActivity(step.Name), Handle: steps.Named(step.Handle(b))})
	}

	return all, nil
}

func (b *Backend) newShopSteps() (*steps.Steps, error) {
	return steps.New(steps.Config{
		Orders:   b.Orders,
		Stock:    b.Stock,
		Payments: b.Payments,
		Ledger:   b.Ledger,
		Capture:  b.Config.PaymentMode == paymentCapture,
		Booker:   b.Booker,
		Parked:   b.ParkedTasks,
	})
}

// serve returns the activity of a step. The handler's time-out is nine tenths of the task's, so that its
// answer arrives before Step Functions ends the task.
func serve(step steps.Step, timing steps.Timing, arn string, slots int) activities.Activity {
	return activities.Activity{
		ARN:       arn,
		Name:      step.Name,
		Handle:    step.Handle,
		Slots:     slots,
		Pollers:   max(1, slots/4),
		Heartbeat: timing.Heartbeat,
		Timeout:   timing.Timeout * 9 / 10,
	}
}
