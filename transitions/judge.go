package transitions

import (
	"context"
	"fmt"
	"slices"
)

// judge finds the verdict that the order as it stands gives the call. It looks at the
// order's image, and reads the table of requests and the journal only if the ring may have
// forgotten the answer. The verdict is 0 when the order has not decided the call: then the
// state and the guards say whether the transition may be made.
func (o *Orders) judge(ctx context.Context, p *plan, order *Order) (Result, error) {
	if t, made := order.madeBy(p.call, p.key, p.id); made {
		// An earlier attempt of this call made the write, but its answer was lost.
		return Result{Verdict: Applied, Transition: t, Order: order}, nil
	}

	if order.hasOtherParcel(p.parcel) {
		return Result{Verdict: Conflict, Order: order, Reason: "the parcel was reported with other lines"}, nil
	}

	t, found, err := o.evidence(ctx, p, order)
	switch seen := p.request.IfMatch; {
	case err != nil:
		return Result{}, err
	// The row that proves the transition is newer than the image.
	case found && t.ID > order.TransitionID:
		return o.compareNow(ctx, p, t)
	case found:
		return p.compare(t, order), nil
	case p.id != 0 && p.id <= max(order.TransitionID, order.ring[p.id%ringSize].ID):
		// The id was skipped, and the condition transitionId < :id will refuse it in
		// every later round, too. (The slot has a later id than the order only in an
		// item that another program has changed.)
		return Result{Verdict: Superseded, Order: order}, nil
	case seen != nil && order.TransitionID < *seen:
		// No caller can have seen an id that the order has not reached.
		return Result{Verdict: Conflict, Order: order}, nil
	}

	// The version is checked last, because evidence is valid under any version of the definition.
	return Result{}, o.CheckVersion(order)
}

// compareNow reads the order again and compares the request with a transition that was
// made after the first read: the answer must not show the outdated order.
func (o *Orders) compareNow(ctx context.Context, p *plan, t Transition) (Result, error) {
	order, found, err := o.get(ctx, p.request.OrderID)
	// Not found: the order was deleted between the two reads.
	if err != nil || !found {
		return Result{Verdict: NotFound}, err
	}

	return p.compare(t, order), nil
}

// compare judges the request by the transition that has its id or was made under
// its request id.
func (p *plan) compare(t Transition, order *Order) Result {
	// A transition does not have its parcel's lines. judge has compared them (hasOtherParcel).
	sameContent := p.parcel != nil || t.answers(p.request)
	sameKey := t.request == p.key
	named := p.key != digest{}

	switch {
	case sameContent && sameKey && named:
		return Result{Verdict: Replayed, Transition: t, Order: order}
	case sameKey && named:
		return Result{Verdict: Conflict, Order: order}
	case p.assigned || t.assigned:
		// At least one of the calls had its id assigned, and both took the same id by chance.
		// This is a lost race, not a mistake of a caller.
		return Result{Verdict: Superseded, Order: order}
	// Two callers gave the same id. Without request ids, equal content is the same request.
	case sameContent && sameKey:
		return Result{Verdict: Replayed, Transition: t, Order: order}
	}

	return Result{Verdict: Conflict, Order: order}
}

// CheckVersion returns ErrUnknownVersion when the order may not be judged by the
// definition of o. An order without a version may be judged: another program has
// created it.
func (o *Orders) CheckVersion(order *Order) error {
	if order.DefinitionVersion == 0 || slices.Contains(o.versions.known, order.DefinitionVersion) {
		return nil
	}

	return fmt.Errorf("%w: it is of version %d, known here %v (`ratchet workflow migrate` brings orders to another version)",
		ErrUnknownVersion, order.DefinitionVersion, o.versions.known)
}
