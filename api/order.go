package api

import (
	"time"

	"ratchet/operate/inspect"
	"ratchet/transitions"
)

// order is an order as callers see it. Requests have types of their own, so no field of
// this one is read from a request.
type order struct {
	OrderID           string            `json:"orderId"`
	Incarnation       string            `json:"incarnation" doc:"Names this life of the order: an id that is used again has another one. It is a part of every effect key."`
	State             string            `json:"state"`
	PreviousState     string            `json:"previousState,omitempty"`
	TransitionID      int64             `json:"transitionId" doc:"The id of the newest transition."`
	DefinitionVersion int               `json:"definitionVersion"`
	Items             []line            `json:"items,omitzero" doc:"Absent if the definition has no items."`
	Total             *money            `json:"total,omitempty" doc:"Absent if the definition has no total."`
	Customer          string            `json:"customer,omitempty" personal:"text" doc:"Whose order it is."`
	Reference         string            `json:"reference,omitempty" personal:"text" doc:"The order's number in the caller's system."`
	Metadata          map[string]string `json:"metadata,omitempty" personal:"text"`
	ContentVersion    int64             `json:"contentVersion" doc:"How often the content was edited."`
	ShippingAddress   map[string]string `json:"shippingAddress,omitempty" personal:"text"`
	BillingAddress    map[string]string `json:"billingAddress,omitempty" personal:"text"`
	Notes             []noted           `json:"notes,omitempty"`
	Own               ownShown          `json:"own,omitempty" personal:"text"`
	Cause             *cause            `json:"cause,omitempty" doc:"Why the newest transition was made."`
	EditCause         *cause            `json:"editCause,omitempty" doc:"Why the content was edited last."`
	CreatedAt         time.Time         `json:"createdAt,omitzero" doc:"Absent if another program has placed the order without it."`
	UpdatedAt         time.Time         `json:"updatedAt,omitzero" doc:"Absent if another program has moved the order last, and without it."`
	Timers            []timer           `json:"timers,omitempty" doc:"What time does to the order if it stays as it is, the earliest first. The answers to reads have it, and those to writes do not."`
	Unreadable        []string          `json:"unreadable,omitempty" doc:"The attributes of the stored order that have another form than Ratchet writes. The order is shown without them: their members here say nothing."`
}

// line is one line of an order.
type line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"price" doc:"The price of one piece, in minor units."`
	Shipped  int64  `json:"shipped,omitempty" doc:"How many pieces were shipped in parcels."`
}

type money struct {
	Amount   int64  `json:"amount" doc:"In minor units."`
	Currency string `json:"currency" doc:"ISO 4217."`
}

type noted struct {
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty" personal:"text"`
	Text string    `json:"text" personal:"text"`
}

// transition is one applied transition.
type transition struct {
	TransitionID int64     `json:"transitionId"`
	Event        string    `json:"event"`
	From         string    `json:"from,omitempty"`
	To           string    `json:"to"`
	At           time.Time `json:"at"`
	Cause        *cause    `json:"cause,omitempty" doc:"Why, and who asked. In the answer to a transition only its code; order.cause has the rest."`
}

// timer is a transition that time makes.
type timer struct {
	Event   string    `json:"event"`
	To      string    `json:"to"`
	At      time.Time `json:"at" doc:"When it is due. It is made within a minute after that, and never before."`
	Unmet   string    `json:"unmet,omitempty" doc:"The guard that the order as it is does not meet. While that is so, time does not make the transition."`
	Overdue string    `json:"overdue,omitempty" doc:"Why it was not made although its moment has passed. Absent before that."`
}

// showRead returns an order that was read whole as the tenant sees it, with its timers.
func (s *service) showRead(t tenant, o *transitions.Order) order {
	out := t.showOrder(o)

	for _, at := range inspect.Timers(s.cfg.Orders, o, time.Now()) {
		out.Timers = append(out.Timers, timer{string(at.Event), string(at.To), at.At, at.Unmet, at.Overdue})
	}

	return out
}

// showOrder returns a stored order as the tenant sees it.
func (t tenant) showOrder(o *transitions.Order) order {
	out := order{
		OrderID:           t.publicID(string(o.ID)),
		Incarnation:       string(o.Incarnation),
		State:             string(o.State),
		PreviousState:     string(o.PreviousState),
		TransitionID:      int64(o.TransitionID),
		DefinitionVersion: o.DefinitionVersion,
		Customer:          o.Customer,
		Reference:         o.Reference,
		Metadata:          o.Metadata,
		Cause:             showCause(o.Cause),
		EditCause:         showCause(o.EditCause),
		ContentVersion:    o.ContentVersion,
		ShippingAddress:   o.Shipping,
		BillingAddress:    o.Billing,
		CreatedAt:         o.CreatedAt,
		UpdatedAt:         o.UpdatedAt,
		Own:               ownShown(o.Own),
		Unreadable:        o.Unreadable,
	}
	// An order with an empty list shows the list. Without lines the member is absent.
	if o.HasLines() {
		out.Items = make([]line, len(o.Items))
	}

	for i, item := range o.Items {
		out.Items[i] = line{t.publicID(item.SKU), item.Quantity, item.Price, item.Shipped}
	}

	if o.Total != (transitions.Money{}) {
		out.Total = (*money)(&o.Total)
	}

	for _, note := range o.Notes {
		out.Notes = append(out.Notes, noted(note))
	}

	return out
}

func showTransition(t transitions.Transition) transition {
	return transition{
		TransitionID: int64(t.ID),
		Event:        string(t.Event),
		From:         string(t.From),
		To:           string(t.To),
		At:           t.At,
		Cause:        showCause(t.Cause),
	}
}

// newLine is a line that a caller sends. Its bounds keep the total of an order within an
// int64.
type newLine struct {
	SKU      string `json:"sku" maxLength:"96" minLength:"1" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Quantity int64  `json:"quantity" minimum:"1" maximum:"1000000"`
	Price    int64  `json:"price" minimum:"0" maximum:"1000000000" doc:"The price of one piece, in minor units."`
}

type newMoney struct {
	Amount   int64  `json:"amount" minimum:"0" maximum:"1000000000000000" doc:"In minor units."`
	Currency string `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
}

// items returns the lines with stored SKUs: SKUs belong to a tenant, like all ids.
func (t tenant) items(lines []newLine) []transitions.Item {
	out := make([]transitions.Item, len(lines))
	for i, l := range lines {
		out[i] = transitions.Item{SKU: t.storedID(l.SKU), Quantity: l.Quantity, Price: l.Price}
	}

	return out
}
