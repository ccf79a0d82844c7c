package transitions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// maxPreviewLooks is how many reads a preview makes at most: of the order, of the request id's row and of the
// journal, each again if the order has moved meanwhile.
const maxPreviewLooks = 8

// Preview judges the request as Apply would by what it reads now, and writes nothing. The verdict Applied means that
// the order as it was read would take the request: the transition of the result has its id and target, and no time,
// and the order of the result is the one that was read. Another request may come first, so a later Apply may be
// answered otherwise; only Replayed, Superseded and Conflict stay as they are, because a record proves them.
// A request without an id and a request id is judged as a new one. A preview is not noted as a refusal. One read, and the reads of Apply for a request that the ring may have forgotten.
func (o *Orders) Preview(ctx context.Context, r Request) (Result, error) {
	result, err := o.preview(ctx, r)
	if err != nil {
		return Result{}, &Error{Order: r.OrderID, Event: r.Event, TransitionID: r.TransitionID, Err: err}
	}

	return result, nil
}

func (o *Orders) preview(ctx context.Context, r Request) (Result, error) {
	if r.TransitionID == 0 && r.RequestID == "" {
		r.RequestID = RequestID(rand.Text()) // no request has had it
	}

	if err := o.validate(r); err != nil {
		return Result{}, err
	}

	p := newMove(o, r)
	// The order is read first, also where Apply would leave the question to its write.
	next := decision{look: o.look}

	s := sight{id: r.OrderID, life: r.Incarnation, now: o.clock.Now()}
	for range maxPreviewLooks {
		switch {
		case next.err != nil:
			return Result{}, next.err
		case next.write != nil:
			return p.foreseen(&s)
		case next.look == nil:
			return next.result, nil
		}

		if err := next.look(ctx, &s); err != nil {
			return Result{}, err
		}
		next = p.decide(&s)
	}

	return Result{}, fmt.Errorf("%w: the order moves too fast to be judged", ErrContended)
}

// foreseen is the answer to a request that would be written.
func (p *move) foreseen(s *sight) (Result, error) {
	if s.order == nil {
		return Result{}, errors.New("a request is judged without its order") // decide answers NotFound
	}

	to, _, _, err := selectTransition(p.groups, s.order, p.request.Values)
	if err != nil {
		return Result{}, err
	}

	t := Transition{ID: p.id, Event: p.request.Event, From: s.order.State, To: to.To, Cause: p.request.Cause}
	if p.id == 0 {
		t.ID = s.order.TransitionID + 1
	}

	return Result{Verdict: Applied, Transition: t, Order: s.order}, nil
}
