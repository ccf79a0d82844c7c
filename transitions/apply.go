package transitions

import (
	"context"
	"fmt"

	"ratchet/workflow"
)

// Result is the answer to a request.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Transition is the applied transition, when the verdict is Applied or Replayed.
	Transition Transition `json:"transition,omitzero"`
	// Order is the order as it is now; nil when NotFound, or Illegal for every state.
	Order *Order `json:"order,omitempty"`
	// Expected lists the states from which the event would have been legal, when
	// the verdict is WrongState.
	Expected []workflow.State `json:"expected,omitempty"`
	// Reason names the guards that do not hold, if the order is in one of these
	// states and the verdict is WrongState.
	Reason string `json:"reason,omitempty"`
}

// Apply decides and applies one transition. Refusals are verdicts, not errors; an
// error is an [*Error] that says whether the same request may be sent again
// ([Retryable]).
//
// A canceled context does not take back a write that was sent: the error is then
// ErrOutcomeUnknown.
func (o *Orders) Apply(ctx context.Context, r Request) (Result, error) {
	ctx, meter := o.metered(ctx)
	ctx, trace, end := o.begin(ctx, r.OrderID, r.Event, r.Cause.Trace)
	r.Cause.Trace = trace

	result, err := o.apply(ctx, r)
	end(result, err)

	if err != nil {
		return Result{}, &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: err}
	}
	o.report(ctx, meter, r, result)

	return result, nil
}

// apply validates the request, plans it, and leaves the rest to the write loop.
func (o *Orders) apply(ctx context.Context, r Request) (Result, error) {
	if err := r.Validate(); err != nil {
		return Result{}, err
	}

	if r.Event == o.def.Place() {
		return Result{}, fmt.Errorf("%w: event %s creates an order; use Create", ErrInvalidRequest, r.Event)
	}

	p, err := newPlan(o.def, r)
	switch {
	case err != nil:
		return Result{}, err
	// No state of the definition has the event, so no order has to be read.
	case len(p.groups) == 0:
		return Result{Verdict: Illegal}, nil
	}

	return o.run(ctx, p)
}
