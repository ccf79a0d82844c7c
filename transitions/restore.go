package transitions

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Restoration says how the journal of an order would change the order, or has changed it.
type Restoration struct {
	OrderID OrderID `json:"orderId"`
	// Facts are the facts of the journal.
	Facts
	// Rows is how many rows the journal has.
	Rows int `json:"rows"`
	// Order is the order before the restoration, nil if there was none.
	Order *Order `json:"order,omitempty"`
	// Lost lists the parts that a missing order comes back without, because the journal does
	// not hold them. An order that was found keeps its content, which may be outdated.
	Lost []string `json:"lost,omitempty"`
	// Written reports whether the order was restored. It is false for a dry run.
	Written bool `json:"written"`

	life life
}

// lost lists the parts of an order that the journal does not hold.
var lost = []string{
	"items",
	"total",
	"customer",
	"reference",
	"metadata",
	"parcels",
	"shippingAddress",
	"billingAddress",
	"notes",
	"own attributes",
	"createdAt",
	"contentVersion and the memory of edits",
	"the content's digest, so that placing it again is a Conflict",
}

// Restore computes the facts of an order from its journal. If write is true, it also writes
// them into the order: state, previous state, transitionId, version and ring, by one
// conditional write. If write is false, nothing is written.
//
// Restore only moves an order forward, to the end of its journal. An order that is behind
// its journal keeps its content; a missing order comes back without any. The error is
// ErrNothingToRestore if the order is not behind its journal, ErrUnknownOrder if there is
// neither an order nor a journal, a [*JournalError] if the journal has a gap or cannot be
// read, and ErrContended if the order moves meanwhile.
//
// With JournalByStream, call Restore only after the reader of the stream has come to its
// end: a transition without a row would be lost.
func (o *Orders) Restore(ctx context.Context, id OrderID, write bool) (Restoration, error) {
	r, err := o.restore(ctx, id, write)
	if err != nil {
		return r, fmt.Errorf("restore order %s: %w", id, err)
	}

	return r, nil
}

func (o *Orders) restore(ctx context.Context, id OrderID, write bool) (Restoration, error) {
	// The order is read before the journal: the write requires the order as it was read, so
	// an order that moves while the journal is read is not overwritten.
	order, found, err := o.Get(ctx, id)
	if err != nil {
		return Restoration{}, err
	}

	r := Restoration{OrderID: id, Order: order}
	if !found {
		r.Lost = lost
	}

	if err := r.Rebuild(counted(o.rowsToRestore(ctx, &r), &r.Rows)); err != nil {
		return r, err
	}

	switch {
	case r.Rows == 0 && !found:
		return r, ErrUnknownOrder
	case found && order.TransitionID >= r.TransitionID:
		return r, fmt.Errorf("%w: it is at transition %d, its journal ends at %d", ErrNothingToRestore, order.TransitionID, r.TransitionID)
	case !write:
		return r, nil
	}

	// The order was read before its journal, so it may be outdated. The write requires that it is not.
	_, err = o.run(ctx, &restoration{orders: o, to: r}, sight{id: id, order: order, fresh: true})
	if errors.Is(err, ErrUnreadable) {
		err = fmt.Errorf("%w: %w", ErrContended, err) // another program has changed it
	}
	r.Written = err == nil

	return r, err
}

// restoration is the plan of writing the facts of the journal into the order.
type restoration struct {
	orders *Orders
	to     Restoration // with the order as it was read, nil if there was none
}

func (p *restoration) decide(s *sight) decision {
	switch order := s.order; {
	// This call or another one has written the facts.
	case order != nil && order.TransitionID == p.to.TransitionID && order.State == p.to.State:
		return decision{result: Result{Verdict: Applied, Order: order}}
	case order != p.to.Order:
		return decision{err: ErrContended} // the order has moved, or is gone
	}

	return decision{write: &write{update: p.orders.restoring(p.to), into: "recent"}}
}

// rowsToRestore returns the journal of the order. If the order is gone, it is the journal of the newest
// order that had the id, whose life comes back.
func (o *Orders) rowsToRestore(ctx context.Context, r *Restoration) iter.Seq2[Row, error] {
	return o.rows(ctx, r.OrderID, 0, func() (l life, found bool, err error) {
		if r.Order != nil {
			r.life = r.Order.life()
			return r.life, true, nil
		}
		r.life, found, err = o.newestLife(ctx, r.OrderID)

		return r.life, found, err
	})
}

// counted passes the rows on and counts them in n.
func counted(rows iter.Seq2[Row, error], n *int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				*n++
			}

			if !yield(row, err) {
				return
			}
		}
	}
}

// restoring returns the write that gives the order the facts.
func (o *Orders) restoring(r Restoration) *dynamodb.UpdateItemInput {
	// reqAt is not raised: request ids may lack their rows, so they are looked for in the journal.
	u := dynamo.NewUpdate(o.cfg.Table, orderKey(r.OrderID)).
		SetValue("orderState", dynamo.S(string(r.State))).
		SetValue("transitionId", dynamo.N(int64(r.TransitionID))).
		SetValue(recentAttribute, dynamo.M(ringImage(r.ring)))
	// Attributes of another program stay as they are (see foreign.go).
	var others foreign
	if r.Order != nil {
		others = r.Order.foreign()
	}

	switch newest := r.ring[r.TransitionID%ringSize]; {
	case others.cause:
	case newest.Cause.hasDetails():
		u.SetValue(causeAttribute, newest.causeValue(r.OrderID))
	default:
		u.RemoveAttribute(causeAttribute)
	}

	if !others.version {
		u.SetValue(versionAttribute, dynamo.N(int64(r.DefinitionVersion)))
	}

	if !others.updated {
		u.SetValue(updatedAtAttribute, dynamo.Millis(r.At))
	}

	if r.PreviousState != "" && !others.previous {
		u.SetValue(previousStateAttribute, dynamo.S(string(r.PreviousState)))
	}

	switch {
	case others.entered:
	case r.enteredAt.IsZero():
		u.RemoveAttribute(enteredAtAttribute) // it was the time of another state
	default:
		u.SetValue(enteredAtAttribute, dynamo.Millis(r.enteredAt))
	}

	if r.Order == nil {
		// The order had this life when it was lost, and its effects have its keys.
		u.SetValue(incarnationAttribute, dynamo.S(string(r.life.incarnation)))

		if lives := r.life.value(); lives != nil {
			u.SetValue(livesAttribute, lives)
		}

		return u.IfAbsent("orderId").Input()
	}

	ifUnchanged(u, r.Order)

	return u.Input()
}

// ringImage returns the ring as the members of the attribute recent.
func ringImage(ring [ringSize]Transition) image {
	img := image{}
	for _, t := range ring {
		if t.ID != 0 {
			t.addTo(img)
		}
	}

	return img
}
