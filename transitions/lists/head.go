package lists

import (
	"context"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Attributes of a head.
const (
	headTransition = "transitionId"
	headLife       = "incarnation"
	headState      = "orderState"
	headList       = "stateList"
	headPlace      = "statePlace"
	headPlaced     = "placed"
	headCustomer   = "customer"
	headReference  = "reference"
)

// headAttributes are the attributes that a head may lack.
var headAttributes = []string{headState, headList, headPlace, headPlaced, headCustomer, headReference, ExpiryAttribute}

// head is the lists' record of an order: the newest transition that they show, and all rows in which
// they show it. It proves which rows are the order's, so that none stays behind.
type head struct {
	transition transitions.TransitionID // 0 if the order was never listed
	life       transitions.Incarnation
	state      workflow.State // empty if the order was deleted
	row        row            // in the list of the state
	placed     string         // the place of placing; empty if the order was never listed or was deleted
	customer   string
	reference  string
	id         transitions.OrderID
}

// isTombstone reports whether the order was deleted.
func (h head) isTombstone() bool { return h.transition != 0 && h.state == "" }

// isOf reports whether the head may show this life of the order, and not another order that has or had
// the same id. A head that shows no order matches every order. Two orders that another program has
// placed within the same millisecond cannot be told apart.
func (h head) isOf(o *transitions.Order) bool {
	return h.transition == 0 || h.life == o.Incarnation && (h.isTombstone() || h.placed == placeAt(o.ID, o.CreatedAt))
}

// head reads the order's head.
func (l *Lists) head(ctx context.Context, id transitions.OrderID) (head, error) {
	item, err := l.get(ctx, headRow(id), true)
	if err != nil {
		return head{}, err
	}

	return head{
		id:         id,
		transition: transitions.TransitionID(dynamo.Number(item, headTransition)),
		life:       transitions.Incarnation(dynamo.Text(item, headLife)),
		state:      workflow.State(dynamo.Text(item, headState)),
		row:        row{dynamo.Text(item, headList), dynamo.Text(item, headPlace)},
		placed:     dynamo.Text(item, headPlaced),
		customer:   dynamo.Text(item, headCustomer),
		reference:  dynamo.Text(item, headReference),
	}, nil
}

// headOf returns the head that shows the order.
func headOf(o *transitions.Order) head {
	return head{
		id:         o.ID,
		transition: o.TransitionID,
		life:       o.Incarnation,
		state:      o.State,
		row:        row{stateList(o.ID, o.State), placeAt(o.ID, o.EnteredAt())},
		placed:     placeAt(o.ID, o.CreatedAt),
		customer:   o.Customer,
		reference:  o.Reference,
	}
}

// attributes returns the attributes of the head's item.
func (h head) attributes() dynamo.Item {
	item := dynamo.Item{headTransition: dynamo.N(int64(h.transition)), headLife: dynamo.S(string(h.life))}
	if h.isTombstone() {
		item[ExpiryAttribute] = dynamo.Seconds(time.Now().Add(tombstoneFor))
		return item
	}

	for name, text := range map[string]string{
		headState:     string(h.state),
		headList:      h.row.list,
		headPlace:     h.row.place,
		headPlaced:    h.placed,
		headCustomer:  h.customer,
		headReference: h.reference,
	} {
		if text != "" {
			item[name] = dynamo.S(text)
		}
	}

	return item
}

// rows returns all rows of the order that the head shows.
func (h head) rows() []row {
	if h.state == "" {
		return nil
	}

	rows := []row{h.row, {timeList(h.id), h.placed}}
	if h.customer != "" {
		rows = append(rows, row{customerList(ownerOf(h.id), h.customer), h.placed})
	}

	if h.reference != "" {
		rows = append(rows, row{referenceList(ownerOf(h.id), h.reference), h.placed})
	}

	return rows
}
