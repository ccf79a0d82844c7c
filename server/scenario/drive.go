package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Sent counts requests. If a request is sent twice, the second time is counted only in the field of the
// repeats.
type Sent struct {
	// Starts counts requests to start an execution, Repeated their repeats.
	Starts, Repeated atomic.Int64
	// Cancels counts requests to cancel an order, CancelsRepeated their repeats.
	Cancels, CancelsRepeated atomic.Int64
	// Reports counts reports of the carrier, ReportsRepeated their repeats, and ReportsEarly the reports
	// that were made too early.
	Reports, ReportsRepeated, ReportsEarly atomic.Int64
}

// drivers is how many requests to start an execution are sent at the same time.
const drivers = 32

// Fill sets the stock that the plan needs.
func (p Plan) Fill(ctx context.Context, b *server.Backend) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(drivers)

	for sku, quantity := range p.Stock() {
		group.Go(func() error { return b.Stock.Set(ctx, sku, quantity) })
	}

	return group.Wait()
}

// Drive starts the orders of the plan in random order, some of them twice from different goroutines, and
// cancels some of them while they run. It returns when every request is answered; orders may still run
// then. Like a real client, it repeats a request that fails until the request succeeds or ctx ends. If
// admit is not nil, Drive calls it before each request to start an order. Admit may block, to limit the
// number of orders that run.
func (p Plan) Drive(ctx context.Context, b *server.Backend, sent *Sent, admit func(context.Context, transitions.OrderID) error) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	// A cancellation waits until its order exists, so it runs outside of the limited group of drivers: if
	// all drivers waited, no order would be placed.
	cancels, canceling := errgroup.WithContext(ctx)

	var requests []func(context.Context) error
	for i := range p.Orders {
		order, canceled := p.Order(i), sync.Once{}
		start := func(ctx context.Context) error {
			if admit != nil {
				if err := admit(ctx, order.ID); err != nil {
					return err
				}
			}

			// The first of the two requests for an order begins its cancellation.
			if draw("cancel", string(order.ID)) < p.Canceled {
				canceled.Do(func() {
					cancels.Go(func() error { return cancelTwice(canceling, b, order.ID, sent) })
				})
			}

			return retryUntilDone(ctx, func() error { _, err := b.Start(ctx, arn, order); return err })
		}

		requests = append(requests, func(ctx context.Context) error { sent.Starts.Add(1); return start(ctx) })
		if draw("again", string(order.ID)) < p.Duplicates {
			requests = append(requests, func(ctx context.Context) error { sent.Repeated.Add(1); return start(ctx) })
		}
	}
	rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] }) //nolint:gosec // G404: the order needs no cryptographic randomness

	starts, starting := errgroup.WithContext(ctx)
	starts.SetLimit(drivers)

	for _, request := range requests {
		starts.Go(func() error { return request(starting) })
	}

	return errors.Join(starts.Wait(), cancels.Wait())
}

// retryUntilDone repeats a call until it succeeds, fails with an error that a repeat cannot
// change, or ctx ends.
func retryUntilDone(ctx context.Context, call func() error) error {
	for {
		err := call()
		_, failed := errors.AsType[*executions.FailedError](err)
		if err == nil || failed || errors.Is(err, executions.ErrOtherOrder) || errors.Is(err, transitions.ErrInvalidRequest) {
			return err
		}

		if !worker.Wait(ctx, 20*time.Millisecond) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// cancelTwice cancels an order from two goroutines under one request id. While the order
// does not exist, it repeats the request up to 40 times.
func cancelTwice(ctx context.Context, b *server.Backend, id transitions.OrderID, sent *Sent) error {
	const attempts = 40
	request := transitions.Request{
		OrderID:   id,
		Event:     workflow.Cancel,
		RequestID: transitions.RequestID(fmt.Sprintf("cancel/%s", id)),
	}

	group, ctx := errgroup.WithContext(ctx)
	for range 2 {
		group.Go(func() error {
			for range attempts {
				var result transitions.Result
				err := retryUntilDone(ctx, func() (err error) {
					result, err = b.Orders.Apply(ctx, request)
					return err
				})
				// NotFound: the order's execution has not placed it yet.
				if err != nil || result.Verdict != transitions.NotFound {
					return err
				}

				if !worker.Wait(ctx, 10*time.Millisecond) {
					return context.Cause(ctx)
				}
			}

			return nil
		})
	}
	sent.Cancels.Add(1)
	sent.CancelsRepeated.Add(1)

	return group.Wait()
}

// DisturbCarrier makes the backend's carrier send some reports twice, and some deliveries
// before the shipment.
func (p Plan) DisturbCarrier(b *server.Backend, sent *Sent) {
	b.Carrier.Wrap(func(deliver sandbox.DeliverFunc) sandbox.DeliverFunc { return p.disturbed(deliver, sent) })
}

// disturbed wraps deliver so that it gets some reports twice and some too early.
func (p Plan) disturbed(deliver sandbox.DeliverFunc, sent *Sent) sandbox.DeliverFunc {
	return func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
		sent.Reports.Add(1)

		// The order has not shipped yet, so the shop must answer this delivery with Retry.
		if r.Milestone == shipping.Shipped && draw("early", r.OrderID) < 10 {
			early := r
			early.Milestone, early.ID = shipping.Delivered, r.ID+"-early"
			sent.ReportsEarly.Add(1)

			if _, err := deliver(ctx, early); err != nil {
				return shipping.Retry, err
			}
		}

		if draw("report", r.ID) >= p.Duplicates {
			return deliver(ctx, r)
		}
		sent.ReportsRepeated.Add(1)

		// Both are sent at the same time, to test concurrent calls of the receiver.
		var answers [2]shipping.Answer
		group, both := errgroup.WithContext(ctx)
		for i := range answers {
			group.Go(func() (err error) { answers[i], err = deliver(both, r); return err })
		}
		err := group.Wait()

		// Accepted is the smallest answer. One accepted report of the two is enough.
		return min(answers[0], answers[1]), err
	}
}
