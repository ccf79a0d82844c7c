package transitions

import (
	"fmt"
	mrand "math/rand/v2"

	"ratchet/workflow"
)

// move is the plan of one transition.
type move struct {
	orders  *Orders
	request Request
	key     digest           // of the request id, zero without one
	id      TransitionID     // 0: current + 1, once the order has been read
	groups  []workflow.Group // the moves of the event, by target; none for a parcel
	parcel  *parcelPlan      // the parcel that leaves with the transition, nil for none

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
