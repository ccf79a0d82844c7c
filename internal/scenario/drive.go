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
	"ratchet/server"
	"ratchet/shipping/sandbox"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Sent counts what was sent.
type Sent struct {
	// Starts are requests to start an execution, Repeated those sent once more.
	Starts, Repeated atomic.Int64
	// Cancels are requests to cancel, with their repetitions in CancelsRepeated.
	Cancels, CancelsRepeated atomic.Int64
	// Reports are the carrier's callbacks, with their repetitions in ReportsRepeated
	// and those that came too early in ReportsEarly.
	Reports, ReportsRepeated, ReportsEarly atomic.Int64
}

// drivers bounds how many orders are placed at once.
const drivers = 32

// Fill puts the plan's stock in place.
func (p Plan) Fill(ctx context.Context, b *server.Backend) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(drivers)

	for sku, quantity := range p.Stock() {
		group.Go(func() error { return b.Stock.Set(ctx, sku, quantity) })
	}

	return group.Wait()
}

// Drive places every order of the plan in a random order, some of them twice from
// different goroutines, and cancels some while they are under way. It returns when
// every request is answered; what the orders do then is the workers' affair. A
// request whose answer is an error is sent again until ctx ends, as a real client
// would. admit, when not nil, is called before an order's first request and may hold
// it back.
func (p Plan) Drive(ctx context.Context, b *server.Backend, sent *Sent, admit func(context.Context, transitions.OrderID) error) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}
	var requests []func(context.Context) error
	// A cancellation that comes before its order waits for it; it must not take a
	// driver's place meanwhile, or the order would wait for that.
	cancels, cancelling := errgroup.WithContext(ctx)
	for i := range p.Orders {
		order, cancelled := p.Order(i), sync.Once{}
		start := func(ctx context.Context) error {
			if admit != nil {
				if err := admit(ctx, order.ID); err != nil {
					return err
				}
			}

			if draw("cancel", string(order.ID)) < p.Cancelled {
				cancelled.Do(func() { cancels.Go(func() error { return cancelTwice(cancelling, b, order.ID, sent) }) })
			}

			return insist(ctx, func() error { _, err := b.Start(ctx, arn, order); return err })
		}
		requests = append(requests, func(ctx context.Context) error { sent.Starts.Add(1); return start(ctx) })
		if draw("again", string(order.ID)) < p.Duplicates {
			requests = append(requests, func(ctx context.Context) error { sent.Repeated.Add(1); return start(ctx) })
		}
	}
	rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	starts, starting := errgroup.WithContext(ctx)
	starts.SetLimit(drivers)

	for _, request := range requests {
		starts.Go(func() error { return request(starting) })
	}

	return errors.Join(starts.Wait(), cancels.Wait())
}

// insist repeats a call until it succeeds or ctx ends.
func insist(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || errors.Is(err, server.ErrOtherOrder) || errors.Is(err, transitions.ErrInvalidRequest) {
			return err
		}

		if !worker.Wait(ctx, 20*time.Millisecond) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// cancelTwice cancels an order under one request id, from two goroutines. A request
// that comes before the order waits for it, up to patience.
func cancelTwice(ctx context.Context, b *server.Backend, id transitions.OrderID, sent *Sent) error {
	const patience = 40
	group, ctx := errgroup.WithContext(ctx)
	for range 2 {
		group.Go(func() error {
			for range patience {
				var result transitions.Result
				err := insist(ctx, func() (err error) {
					result, err = b.Orders.Apply(ctx, transitions.Request{OrderID: id, Event: workflow.Cancel, RequestID: transitions.RequestID(fmt.Sprintf("cancel/%s", id))})
					return err
				})
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

// Confuse makes the backend's carrier report twice and, now and then, report the
// delivery before the shipment.
func (p Plan) Confuse(b *server.Backend, sent *Sent) {
	b.Carrier.Wrap(func(deliver sandbox.DeliverFunc) sandbox.DeliverFunc { return p.confused(deliver, sent) })
}

// confused delivers reports twice or too early.
func (p Plan) confused(deliver sandbox.DeliverFunc, sent *Sent) sandbox.DeliverFunc {
	return func(ctx context.Context, r sandbox.Report) (sandbox.Answer, error) {
		sent.Reports.Add(1)

		if r.Milestone == sandbox.Shipped && draw("early", r.OrderID) < 10 {
			early := r
			early.Milestone, early.ID = sandbox.Delivered, r.ID+"-early"
			sent.ReportsEarly.Add(1)

			if _, err := deliver(ctx, early); err != nil {
				return sandbox.Retry, err
			}
		}

		if draw("report", r.ID) >= p.Duplicates {
			return deliver(ctx, r)
		}
		sent.ReportsRepeated.Add(1)

		var answers [2]sandbox.Answer
		group, both := errgroup.WithContext(ctx)
		for i := range answers {
			group.Go(func() (err error) { answers[i], err = deliver(both, r); return err })
		}
		err := group.Wait()

		return min(answers[0], answers[1]), err
	}
}
