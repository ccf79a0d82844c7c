package transitions

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Restoration says what an order's journal would make of the order, or has made of it.
type Restoration struct {
	OrderID OrderID `json:"orderId"`
	// Facts are what the journal says; Rows is how many rows it has.
	Facts
	Rows int `json:"rows"`
	// Order is the order as it was found, nil when there was none.
	Order *Order `json:"order,omitempty"`
	// Lost lists what no journal holds and a missing order comes back without. An order
	// that was found keeps its content, as old as it may be.
	Lost []string `json:"lost,omitempty"`
	// Written: the order is now what Facts say.
	Written bool `json:"written"`
}

// lost is the content of an order, of which the journal knows nothing.
var lost = []string{"items", "total", "parcels", "shippingAddress", "billingAddress", "notes", "createdAt", "contentVersion and the memory of edits", "the content's digest, so that placing it again is a Conflict"}

// Restore computes what an order must be from its journal, and with write it makes it
// so: state, previous state, transitionId, version and ring, by one conditional write.
// It only ever moves an order forward, to its journal's end: an order that is there must
// be behind its journal and not move meanwhile, and keeps its content; one that is
// missing comes back without any. Everything else is ErrNothingToRestore; a journal that
// is no chain is a [*JournalError]. An order that moves meanwhile is ErrContended.
//
// With a journal written by the stream, call it only once the stream's reader has come to
// the end: transitions whose rows are still to be written would be lost.
func (o *Orders) Restore(ctx context.Context, id OrderID, write bool) (Restoration, error) {
	r, err := o.restore(ctx, id, write)
	if err != nil {
		return r, fmt.Errorf("restore order %s: %w", id, err)
	}

	return r, nil
}

func (o *Orders) restore(ctx context.Context, id OrderID, write bool) (Restoration, error) {
	order, found, err := o.Get(ctx, id)
	if err != nil {
		return Restoration{}, err
	}

	r := Restoration{OrderID: id, Order: order}
	if !found {
		r.Lost = lost
	}

	if err := r.Rebuild(counted(o.Rows(ctx, id, 0), &r.Rows)); err != nil {
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

	now, old, err := o.update(ctx, o.restoring(r), "recent")
	switch {
	case err != nil:
		return r, err
	case now == nil:
		// The answer was lost and a retry met its own write, or another call wrote the
		// same; otherwise the order has moved, or has gone.
		same, err := decode(old)
		if err != nil || same.TransitionID != r.TransitionID || same.State != r.State {
			return r, ErrContended
		}
	}
	r.Written = true

	return r, nil
}

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

// restoring is the write of the facts.
func (o *Orders) restoring(r Restoration) *dynamodb.UpdateItemInput {
	u := dynamo.NewUpdate(o.cfg.Table, orderKey(r.OrderID)).
		SetValue("orderState", dynamo.S(string(r.State))).
		SetValue("transitionId", dynamo.N(int64(r.TransitionID))).
		SetValue("definitionVersion", dynamo.N(int64(r.DefinitionVersion))).
		SetValue("updatedAt", dynamo.Millis(r.At)).
		SetValue("recent", dynamo.M(ringImage(r.ring)))
	if r.PreviousState != "" {
		u.SetValue("previousState", dynamo.S(string(r.PreviousState)))
	}

	if r.Order == nil {
		return u.IfAbsent("orderId").Input()
	}

	values := image{}
	u.If(pinned(r.Order, values))

	for placeholder, v := range values {
		u.Bind(placeholder, v)
	}

	return u.Input()
}

// ringImage is the ring as an attribute.
func ringImage(ring [ringSize]Transition) image {
	img := image{}
	for k, t := range ring {
		if t.ID == 0 {
			continue
		}

		// The journal does not keep calls, and an adopted row may lack the event. A slot
		// has no empty parts: such a part is a dash.
		t.call, t.Event = "-", cmp.Or(t.Event, "-")
		img[ringNames.slot[k]] = t.slot()

		if t.From != "" {
			img[ringNames.from[k]] = dynamo.S(string(t.From))
		}

		if t.request != (digest{}) {
			img[ringNames.request[k]] = t.request.value()
		}
	}

	return img
}
