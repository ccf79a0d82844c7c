package transitions

import (
	"context"

	"ratchet/workflow"
)

// Result is the answer to a request or an edit.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Transition is the applied transition, when the verdict is Applied or Replayed. An edit has none.
	Transition Transition `json:"transition,omitzero"`
	// ContentVersion is the version that an edit made, if its verdict is Applied or Replayed.
	ContentVersion int64 `json:"contentVersion,omitempty"`
	// Order is the order as it is now; nil if there is none.
	Order *Order `json:"order,omitempty"`
	// Expected lists the states from which the event would have been legal or in which the order
	// could have been edited, when the verdict is WrongState.
	Expected []workflow.State `json:"expected,omitempty"`
	// Reason says in words why the request was refused although the order is in one of these states,
	// like the guards that do not hold.
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

// apply validates the request, plans it, and leaves the rest to the loop.
func (o *Orders) apply(ctx context.Context, r Request) (Result, error) {
	if err := r.Validate(); err != nil {
		return Result{}, err
	}

	return o.run(ctx, newMove(o, r), sight{id: r.OrderID})
}
