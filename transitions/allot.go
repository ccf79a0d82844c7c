package transitions

import (
	"context"
	"fmt"

	"ratchet/workflow"
)

// allot applies a request that lets its id be assigned: current plus one. It costs
// one read, or none when the caller's IfMatch says what is current. A lost race
// returns the newer image, from which the id is derived again.
func (o *Orders) allot(ctx context.Context, r Request, groups []workflow.Group) (Result, error) {
	order, found, err := o.Get(ctx, r.OrderID)
	if err != nil || !found {
		return Result{Verdict: NotFound}, err
	}

	for attempt := range o.cfg.Attempts {
		t, found, err := o.madeBefore(ctx, r, order)
		switch {
		case err != nil && attempt > 0:
			return Result{}, unsettled(err)
		case err != nil:
			return Result{}, err
		case found:
			return compare(write{request: r, trace: traceAssigned}, t, order), nil
		}

		if err := o.CheckVersion(order); err != nil {
			return Result{}, err
		}

		move, reason, possible, err := choose(r, groups, order)
		if err != nil || !possible {
			return Result{Verdict: WrongState, Order: order, Expected: expected(groups), Reason: reason}, err
		}

		w := o.prepare(r, order.TransitionID+1, workflow.Group{From: []workflow.State{order.State}, To: move.To, Guards: move.Guards}, traceAssigned)
		moved, old, err := o.sendKnown(ctx, w, order)
		switch {
		case err != nil:
			return Result{}, err
		case moved != nil:
			t, _ := moved.slot(w.id)
			return Result{Verdict: Applied, Transition: t, Order: moved}, nil
		case old == nil:
			return Result{Verdict: NotFound}, nil
		}

		order = old
		if t, _ := order.byRequest(r.RequestID.digest()); t.call == w.call {
			return Result{Verdict: Applied, Transition: t, Order: order}, nil
		}
	}

	return Result{}, ErrContended
}

// sendKnown sends a write to an order that has been read, in the way that the journal
// asks for. It returns the order after it, or the order (nil for none) that refused it.
func (o *Orders) sendKnown(ctx context.Context, w write, base *Order) (moved, old *Order, err error) {
	if o.cfg.Journal == JournalTransactional {
		return o.transact(ctx, w, base)
	}

	newImage, oldImage, err := o.send(ctx, w)
	switch {
	case err != nil:
		return nil, nil, err
	case newImage != nil:
		moved, err = decode(newImage)
		return moved, nil, err
	case len(oldImage) == 0:
		return nil, nil, nil
	}
	old, err = decode(oldImage)

	return nil, old, err
}

// usedBefore looks for the request id of a write under a given id where the ring may
// have forgotten it; what the ring holds the write's own condition looks at. It costs
// a read, and only where an id is so high that something may have been forgotten.
func (o *Orders) usedBefore(ctx context.Context, w write) (result Result, decided bool, err error) {
	if w.trace == traceNone || w.id <= RingSize+1 {
		return Result{}, false, nil
	}

	order, found, err := o.Get(ctx, w.request.OrderID)
	if err != nil || !found {
		return Result{Verdict: NotFound}, err == nil, err
	}

	if _, same := order.slot(w.id); same {
		return Result{}, false, nil // the ring has the answer
	}

	t, made, err := o.madeBefore(ctx, w.request, order)
	if err != nil || !made {
		return Result{}, false, err
	}

	return compare(w, t, order), true, nil
}

// madeBefore looks for the transition that this request id has made: in the ring,
// and where the ring may have forgotten some, in the journal.
func (o *Orders) madeBefore(ctx context.Context, r Request, order *Order) (Transition, bool, error) {
	if t, found := order.byRequest(r.RequestID.digest()); found {
		return t, true, nil
	}

	forgotten := order.oldestForgotten()
	if forgotten == 0 {
		return Transition{}, false, nil
	}

	if o.cfg.JournalTable == "" {
		return Transition{}, false, ErrEvidenceGone
	}

	t, found, err := o.evidenceOfRequest(ctx, r, forgotten)
	if err != nil {
		return Transition{}, false, fmt.Errorf("read the journal: %w", err)
	}

	return t, found, nil
}

// oldestForgotten returns the largest id that some slot may have held before its
// present one, or 0 when the ring has never overwritten anything.
func (o *Order) oldestForgotten() TransitionID {
	var last TransitionID
	for _, t := range o.ring {
		if t.ID > RingSize {
			last = max(last, t.ID-RingSize)
		}
	}

	return last
}
