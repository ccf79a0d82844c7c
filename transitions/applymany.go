package transitions

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Outcome is the answer to one request of ApplyMany: a result, or an error.
type Outcome struct {
	Result
	Err error `json:"-"`
}

const maxConcurrency = 1024

// ApplyMany applies requests, up to concurrency (1 to 1,024) at a time, and returns
// their outcomes by index. Requests of one order are applied one after the other, as
// they stand in the list; orders do not wait for each other. A refusal does not stop
// its order, an error does: the order's later requests end in ErrNotSent, and the rest
// of the list may be sent again. The error returned is about the call itself.
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
			for indices := range next {
				o.applyInTurn(ctx, requests, indices, outcomes)
			}
		})
	}

	for _, id := range orders {
		next <- byOrder[id]
	}
	close(next)
	workers.Wait()

	return outcomes, nil
}

// applyInTurn applies one order's requests.
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

func notSent(r Request, cause error) error {
	return &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: errors.Join(ErrNotSent, cause)}
}
