package transitions

import (
	"fmt"
	"slices"
)

// decide finds the answer to the request, or the write that makes its transition. The order's image decides
// almost every request. If the ring may have forgotten the answer, the table of requests and the
// journal are asked first.
//
// The order of the checks is part of the contract: evidence that the request was applied comes before
// everything that the definition says about it, because an applied request is Replayed under every
// version of the definition.
func (p *move) decide(s *sight) decision {
	switch {
	case s.fresh:
		return p.judge(s)
	case s.order != nil:
		// What the caller has seen may be outdated. It may plan a write, whose condition is that the order is
		// still so, and shows for good that the request was applied. It decides nothing else.
		if d := p.judge(s); d.write != nil || d.result.Verdict == Replayed {
			return d
		}

		return decision{look: p.orders.look}
	case p.readsFirst():
		return decision{look: p.orders.look}
	}

	return p.write(s, p.groups[0], nil)
}

// judge is decide for an order that is known, or known to be absent.
func (p *move) judge(s *sight) decision {
	order := s.order

	switch {
	// There is no order that could show that the request was applied.
	case order == nil && p.refusal.refuses():
		return p.refusal
	case order == nil:
		return decision{result: Result{Verdict: NotFound}}
	}

	if t, made := order.madeBy(p.call, p.key, p.id); made {
		// This call has made the write, even if the answer was lost.
		return decision{result: Result{Verdict: Applied, Transition: t, Order: order}}
	}

	if d := order.inOtherLife(p.request.Incarnation); d.refuses() {
		return d
	}

	if order.hasOtherParcel(p.parcel) {
		return decision{result: Result{Verdict: Conflict, Order: order, Reason: "the parcel was reported with other lines or own attributes"}}
	}

	t, found, missing := p.evidence(s)
	switch seen := p.request.IfMatch; {
	case missing.look != nil || missing.err != nil:
		return missing
	case found:
		return decision{result: p.compare(t, order)}
	case order.renewedSince(p.request.Incarnation):
		return decision{result: Result{Verdict: Superseded, Order: order}}
	case p.id != 0 && p.id <= max(order.TransitionID, order.ring[p.id%ringSize].ID):
		// The id was skipped, and the condition transitionId < :id will refuse it in
		// every later round, too. (The slot has a later id than the order only in an
		// item that another program has changed.)
		return decision{result: Result{Verdict: Superseded, Order: order}}
	case seen != nil && order.TransitionID < *seen:
		// No caller can have seen an id that the order has not reached.
		return decision{result: Result{Verdict: Conflict, Order: order}}
	}

	// The version is checked last, because evidence is valid under any version of the definition.
	if err := p.orders.CheckVersion(order); err != nil {
		return decision{err: err}
	}

	return p.next(s)
}

// seen returns the order that the caller has seen, nil if a write could not be planned by it alone. Only in
// its life, and only under the next id, does the condition of the write find out whether it is outdated.
func (p *move) seen() *Order {
	order := p.request.Seen
	if order == nil || p.request.Incarnation != order.Incarnation || order.Readable(incarnationAttribute) != nil {
		return nil
	}

	if p.id != 0 && p.id != order.TransitionID+1 {
		return nil
	}

	return order
}

// readsFirst reports whether the order must be read before anything is written.
func (p *move) readsFirst() bool {
	switch {
	case p.id == 0, p.parcel != nil, p.orders.restartsAny(p.request.Event, p.groups):
		return true // the write depends on the order
	case p.orders.cfg.Journal == JournalTransactional, len(p.with) > 0:
		return true // the transaction depends on the order
	case p.refusal.refuses():
		return true // there is nothing to write, but the request may have been applied earlier
	}

	// The condition of the write looks for the request id in the ring only. An order that
	// has not reached id 9 has forgotten nothing. Above, other evidence may be needed.
	return p.key != digest{} && p.id > ringSize+1
}

// compare judges the request by the transition that has its id or was made under
// its request id.
func (p *move) compare(t Transition, order *Order) Result {
	// A transition does not have its parcel's lines. decide has compared them (hasOtherParcel).
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
