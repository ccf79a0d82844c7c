package transitions

import (
	"context"
	"fmt"
	mrand "math/rand/v2"

	"ratchet/once/txn"
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
	return o.applyTo(ctx, r, sight{})
}

// applyTo is Apply for a caller that has just read the order, if the sight has one.
func (o *Orders) applyTo(ctx context.Context, r Request, s sight, with ...func(*txn.Transaction, Transition)) (Result, error) {
	ctx, meter := o.metered(ctx)
	ctx, trace, end := o.begin(ctx, r.OrderID, r.Event, r.Cause.Trace)
	r.Cause.Trace = trace

	result, err := o.apply(ctx, r, s, with)
	end(result, err)

	if err != nil {
		return Result{}, &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: err}
	}
	o.report(ctx, meter, r, result)

	return result, nil
}

// apply validates the request, plans it, and leaves the rest to the loop.
func (o *Orders) apply(ctx context.Context, r Request, s sight, with []func(*txn.Transaction, Transition)) (Result, error) {
	if err := o.validate(r); err != nil {
		return Result{}, err
	}

	p := newMove(o, r)
	p.with = with

	s.id, s.life = r.OrderID, r.Incarnation
	if s.order == nil {
		s.order = p.seen()
	}

	return o.run(ctx, p, s)
}

// validate returns an ErrInvalidRequest that names what is wrong with the request in every order of the table.
func (o *Orders) validate(r Request) error {
	if err := r.Validate(); err != nil {
		return err
	}

	return r.Own.Validate(o.cfg.Mapping)
}

// move is the plan of one transition.
type move struct {
	orders  *Orders
	request Request
	key     digest           // of the request id, zero without one
	id      TransitionID     // 0: current + 1, once the order has been read
	groups  []workflow.Group // the moves of the event, by target; none for a parcel
	parcel  *parcelPlan      // the parcel that leaves with the transition, nil for none
	// with adds what is written in the same transaction.
	with []func(*txn.Transaction, Transition)

	// refusal is how the definition refuses the request, whatever the state of the order. It is answered
	// only after the order has shown that the request was not applied under an earlier definition.
	refusal decision
	// assigned: the id was chosen by us, not by the caller.
	assigned bool
	// call names this call among calls with the same request. Its write stores the name, so
	// that the call recognizes its own write after a lost answer.
	call string
}

// newMove returns the plan of a valid request.
func newMove(o *Orders, r Request) *move {
	p := &move{orders: o, request: r, id: r.TransitionID, groups: o.def.Groups(r.Event), assigned: r.TransitionID == 0, call: newCallID()}
	if r.From != "" {
		p.groups = narrowed(r.From, o.def.Choices(r.From, r.Event))
	}

	if r.timer != nil {
		p.groups = []workflow.Group{r.timer.group}
	}

	if r.IfMatch != nil {
		// The condition of the write requires that the order is still at IfMatch.
		p.id = *r.IfMatch + 1
	}

	if r.RequestID != "" {
		p.key = r.RequestID.key()
	}

	switch {
	case r.Event == o.def.Place():
		p.refusal.err = fmt.Errorf("%w: event %s creates an order; use Create", ErrInvalidRequest, r.Event)
	case len(p.groups) == 0:
		p.refusal.result.Verdict = Illegal
	}

	// Every guard is rendered here once, so that a missing value is an error in any state of the order.
	for _, g := range p.groups {
		if len(g.Guards) == 0 {
			continue
		}

		if _, err := workflow.RenderGuards(g.Guards, "g", r.Values); err != nil {
			p.refusal.err = fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
		}
	}

	return p
}

// narrowed returns the moves of an event out of one state.
func narrowed(from workflow.State, choices []workflow.Transition) []workflow.Group {
	groups := make([]workflow.Group, len(choices))
	for i, t := range choices {
		groups[i] = workflow.Group{From: []workflow.State{from}, To: t.To, Guards: t.Guards}
	}

	return groups
}

// callIDLength is how many characters a call id has. Eight call ids are in each order, so they
// are short. A call id need only differ from the ids of other calls with the same request.
const callIDLength = 6

// newCallID names one call: 36 random bits of the runtime's ChaCha8, which is seeded by the
// system. It need not be secret.
func newCallID() string {
	const alphabet = asciiLetters + "0123456789_-"

	var id [callIDLength]byte
	bits := mrand.Uint64() //nolint:gosec // see above
	for i := range id {
		id[i] = alphabet[bits%64]
		bits /= 64
	}

	return string(id[:])
}
