package transitions

import (
	"context"
	"errors"
	"fmt"
)

// classify turns a failed condition into a verdict. All it looks at is the image
// that DynamoDB returned with the failure; the journal is asked only about what the
// ring has forgotten: the slot of the id, or any slot where a request id counts.
func (o *Orders) classify(ctx context.Context, w write, img image) (Result, error) {
	if len(img) == 0 {
		return Result{Verdict: NotFound}, nil
	}

	order, err := decode(img)
	if err != nil {
		return Result{}, err
	}

	return o.judge(ctx, w, order)
}

// unsettled marks a failed read of evidence about a write that was sent: an answer to
// it may have been lost on the way, and a retry of the SDK's have met it.
func unsettled(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// judge finds the verdict that the order as it stands gives the write. WrongState
// also stands for "nothing in the way but perhaps the state": who knows which states
// the event has looks at those.
func (o *Orders) judge(ctx context.Context, w write, order *Order) (Result, error) {
	if w.trace != traceNone {
		if t, found, err := o.madeBefore(ctx, w.request, order); err != nil {
			return Result{}, err
		} else if found {
			return compare(w, t, order), nil
		}
	}

	slot, same := order.slot(w.id)
	switch {
	case same:
		return compare(w, slot, order), nil
	case slot.ID > w.id:
		return o.fromJournal(ctx, w, order)
	case order.TransitionID >= w.id:
		// The slot was free for this id and holds an older one: the id was skipped,
		// and the guard transitionId < :id will refuse it for ever.
		return Result{Verdict: Superseded, Order: order}, nil
	case w.request.IfMatch != nil && order.TransitionID < *w.request.IfMatch:
		// Nobody can have seen an id that the order has not reached.
		return Result{Verdict: Conflict, Order: order}, nil
	}

	return Result{Verdict: WrongState, Order: order}, o.CheckVersion(order)
}

// compare judges a request against the transition that stands under its id or
// carries its request id.
func compare(w write, t Transition, order *Order) Result {
	mine := w.request.RequestID != "" && t.request == w.request.RequestID.digest()
	sameContent := t.answers(w.request)
	switch {
	case w.call != "" && t.call == w.call:
		// The write was ours, its answer was lost, and a retry met it.
		return Result{Verdict: Applied, Transition: t, Order: order}
	case mine && sameContent:
		return Result{Verdict: Replayed, Transition: t, Order: order}
	case mine:
		return Result{Verdict: Conflict, Order: order}
	case w.trace == traceAssigned || t.assigned:
		// Nobody chose this id twice: one of the two had it assigned. That is a
		// lost race, not a caller's mistake.
		return Result{Verdict: Superseded, Order: order}
	case sameContent && w.request.RequestID == "" && t.request == digest{}:
		return Result{Verdict: Replayed, Transition: t, Order: order}
	}

	return Result{Verdict: Conflict, Order: order}
}

// fromJournal judges a request whose slot has been overwritten.
func (o *Orders) fromJournal(ctx context.Context, w write, order *Order) (Result, error) {
	if o.cfg.JournalTable == "" {
		return Result{}, ErrEvidenceGone
	}

	t, found, err := o.evidence(ctx, w.request.OrderID, w.id)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("read the journal: %w", err)
	case found:
		return compare(w, t, order), nil
	}

	return Result{Verdict: Superseded, Order: order}, nil
}
