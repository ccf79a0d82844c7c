package transitions

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Outcome is the answer to one request of [Orders.ApplyMany]. If Err is set, the result is
// empty.
type Outcome struct {
	Result
	Err error `json:"-"`
}

const maxConcurrency = 1024

// ApplyMany applies requests, up to concurrency (1 to 1,024) at a time, and returns
// their outcomes by index. Requests of one order are applied one after the other, in the
// order of the list; different orders do not wait for each other.
//
// A refusal is a verdict and does not stop an order's later requests. An error does: the later
// requests end in ErrNotSent, because they could take the place of the failed request. Send
// them again after the failed request. ApplyMany itself fails only with ErrInvalidRequest, if
// concurrency is out of range.
func (o *Orders) ApplyMany(ctx context.Context, requests []Request, concurrency int) ([]Outcome, error) {
	if concurrency < 1 || concurrency > maxConcurrency {
		return nil, fmt.Errorf("apply %d requests: %w: concurrency %d: 1 to %d", len(requests), ErrInvalidRequest, concurrency, maxConcurrency)
	}

	byOrder := map[OrderID][]int{}
	var orders []OrderID
	for i, r := range requests {
		if _, known := byOrder[r.OrderID]; !known {
			orders = append(orders, r.OrderID)
		}
		byOrder[r.OrderID] = append(byOrder[r.OrderID], i)
	}

	outcomes := make([]Outcome, len(requests))
	next := make(chan []int)
	var workers sync.WaitGroup
	for range min(concurrency, len(orders)) {
		workers.Go(func() {
			// One worker takes all requests of an order, so none can overtake another.
			for indices := range next {
				o.applyInTurn(ctx, requests, indices, outcomes)
			}
		})
	}

	// Every order is sent, even after ctx has ended: the workers then mark the requests as not
	// sent.
	for _, id := range orders {
		next <- byOrder[id]
	}
	close(next)
	workers.Wait()

	return outcomes, nil
}

// applyInTurn applies the requests of one order, which have these indices, until one ends
// in an error.
func (o *Orders) applyInTurn(ctx context.Context, requests []Request, indices []int, outcomes []Outcome) {
	for n, i := range indices {
		r := requests[i]
		if err := context.Cause(ctx); err != nil {
			outcomes[i].Err = notSent(r, err)
			continue
		}

		outcomes[i].Result, outcomes[i].Err = o.Apply(ctx, r)
		if outcomes[i].Err == nil {
			continue
		}

		for _, later := range indices[n+1:] {
			outcomes[later].Err = notSent(requests[later], nil)
		}

		return
	}
}

// notSent returns the error of a request that was not sent. The cause may be nil.
func notSent(r Request, cause error) error {
	return &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: errors.Join(ErrNotSent, cause)}
}
