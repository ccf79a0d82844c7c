package transitions

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Result is the answer to a request.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Transition is what was applied, when the verdict is Applied or Replayed.
	Transition Transition `json:"transition,omitzero"`
	// Order is the order as it is now; nil when NotFound, or Illegal for every state.
	Order *Order `json:"order,omitempty"`
	// Expected lists the states from which the event would have been legal, when
	// the verdict is WrongState.
	Expected []workflow.State `json:"expected,omitempty"`
	// Reason names the guards that were in the way, when the order is in one of those
	// states and the verdict is WrongState all the same.
	Reason string `json:"reason,omitempty"`
}

// Apply decides and applies one transition. Refusals are verdicts, not errors; an
// error is an [*Error] that says whether the same request may be sent again
// ([Retryable]).
//
// A cancelled context does not take back a write that was sent: the error is then
// ErrOutcomeUnknown.
func (o *Orders) Apply(ctx context.Context, r Request) (Result, error) {
	counting, meter := o.metered()

	result, err := counting.apply(ctx, r)
	if err != nil {
		return Result{}, &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: err}
	}
	o.consumed(meter, r.OrderID, result.Verdict)
	o.decided(ctx, r, result.Verdict)

	return result, nil
}

func (o *Orders) apply(ctx context.Context, r Request) (Result, error) {
	if err := r.Validate(); err != nil {
		return Result{}, err
	}

	if r.Event == o.def.Place() {
		return Result{}, fmt.Errorf("%w: event %s creates an order; use Create", ErrInvalidRequest, r.Event)
	}

	groups, legal := o.candidates(r)
	if !legal {
		return Result{Verdict: Illegal}, nil
	}

	if err := r.checkValues(groups); err != nil {
		return Result{}, err
	}

	if r.TransitionID == 0 && r.IfMatch == nil {
		return o.allot(ctx, r, groups)
	}

	id, trace := r.TransitionID, traceNone
	if r.RequestID != "" {
		trace = traceRequest
	}

	if r.IfMatch != nil {
		id, trace = *r.IfMatch+1, traceAssigned
	}

	if result, decided, err := o.usedBefore(ctx, write{request: r, id: id, trace: trace}); err != nil || decided {
		return result, err
	}

	if o.cfg.Journal == JournalTransactional {
		return o.applyKnown(ctx, r, id, groups, trace)
	}

	return o.applyUnder(ctx, r, id, groups, trace)
}

// candidates returns the event's moves that fit the request, by target.
func (o *Orders) candidates(r Request) ([]workflow.Group, bool) {
	if r.From == "" {
		groups := o.def.Groups(r.Event)
		return groups, len(groups) > 0
	}

	var groups []workflow.Group
	for _, t := range o.def.Choices(r.From, r.Event) {
		groups = append(groups, workflow.Group{From: []workflow.State{r.From}, To: t.To, Guards: t.Guards})
	}

	return groups, len(groups) > 0
}

// applyUnder writes under a fixed id. An event with several targets starts with
// the first; the image of a failed condition then names the right one.
func (o *Orders) applyUnder(ctx context.Context, r Request, id TransitionID, groups []workflow.Group, trace int) (Result, error) {
	group := groups[0]
	for attempt := 1; ; attempt++ {
		w := o.prepare(r, id, group, trace)

		newImage, oldImage, err := o.send(ctx, w)
		if err != nil {
			return Result{}, err
		}

		if newImage != nil {
			return o.applied(newImage, id)
		}

		result, err := o.classify(ctx, w, oldImage)
		err = unsettled(err)
		if err != nil || result.Verdict != WrongState {
			return result, err
		}

		move, reason, possible, err := choose(r, groups, result.Order)
		if err != nil || !possible {
			result.Expected, result.Reason = expected(groups), reason
			return result, err
		}

		if attempt == o.cfg.Attempts {
			return Result{}, ErrContended
		}
		group = move
	}
}

// expected lists the states that the groups leave.
func expected(groups []workflow.Group) []workflow.State {
	var all []workflow.State
	for _, g := range groups {
		for _, s := range g.From {
			if !slices.Contains(all, s) { // guards may lead from one state to several
				all = append(all, s)
			}
		}
	}

	return all
}

// applied reads the result off the image that the write returned.
func (o *Orders) applied(img image, id TransitionID) (Result, error) {
	order, err := decode(img)
	if err != nil {
		return Result{}, err
	}
	t, _ := order.slot(id)

	return Result{Verdict: Applied, Transition: t, Order: order}, nil
}

// Get returns the order as it is now (a strongly consistent read), and whether
// there is one.
func (o *Orders) Get(ctx context.Context, id OrderID) (*Order, bool, error) {
	if err := id.Validate(); err != nil {
		return nil, false, fmt.Errorf("get order: %w", err)
	}

	consistent := true

	out, err := o.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &o.cfg.Table, Key: image{"orderId": dynamo.S(string(id))}, ConsistentRead: &consistent})
	if err != nil {
		return nil, false, fmt.Errorf("get order %s: %w", id, unanswered(ctx, err))
	}

	if len(out.Item) == 0 {
		return nil, false, nil
	}
	order, err := decode(out.Item)

	return order, err == nil, err
}
