package api

import (
	"time"

	"ratchet/transitions"
)

// order is an order as callers see it. What they send are other types: no field of
// this one is ever read from a request.
type order struct {
	OrderID           string            `json:"orderId"`
	State             string            `json:"state"`
	PreviousState     string            `json:"previousState,omitempty"`
	TransitionID      int64             `json:"transitionId" doc:"The id of the newest transition."`
	DefinitionVersion int               `json:"definitionVersion"`
	Items             []line            `json:"items"`
	Total             money             `json:"total"`
	ContentVersion    int64             `json:"contentVersion" doc:"How often the content was edited."`
	ShippingAddress   map[string]string `json:"shippingAddress,omitempty"`
	BillingAddress    map[string]string `json:"billingAddress,omitempty"`
	Notes             []noted           `json:"notes,omitempty"`
	CreatedAt         time.Time         `json:"createdAt"`
	UpdatedAt         time.Time         `json:"updatedAt"`
}

// line is one line of an order.
type line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"price" doc:"Of one piece, in minor units."`
	Shipped  int64  `json:"shipped,omitempty" doc:"How many pieces have left in parcels."`
}

type money struct {
	Amount   int64  `json:"amount" doc:"In minor units."`
	Currency string `json:"currency" doc:"ISO 4217."`
}

type noted struct {
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"`
	Text string    `json:"text"`
}

// transition is one applied transition.
type transition struct {
	TransitionID int64     `json:"transitionId"`
	Event        string    `json:"event"`
	From         string    `json:"from,omitempty"`
	To           string    `json:"to"`
	At           time.Time `json:"at"`
}

// show turns a stored order into what its tenant sees.
func (t tenant) show(o *transitions.Order) order {
	out := order{
		OrderID:           t.shown(string(o.ID)),
		State:             string(o.State),
		PreviousState:     string(o.PreviousState),
		TransitionID:      int64(o.TransitionID),
		DefinitionVersion: o.DefinitionVersion,
		Items:             make([]line, len(o.Items)),
		Total:             money(o.Total),
		ContentVersion:    int64(o.ContentVersion),
		ShippingAddress:   o.Shipping,
		BillingAddress:    o.Billing,
		CreatedAt:         o.CreatedAt,
		UpdatedAt:         o.UpdatedAt,
	}
	for i, item := range o.Items {
		out.Items[i] = line{t.shown(item.SKU), item.Quantity, item.Price, item.Shipped}
	}

	for _, note := range o.Notes {
		out.Notes = append(out.Notes, noted(note))
	}

	return out
}

func showTransition(t transitions.Transition) transition {
	return transition{int64(t.ID), string(t.Event), string(t.From), string(t.To), t.At}
}

// newLine is a line that a caller sends. With the bounds of quantity and price no
// total of an order overflows.
type newLine struct {
	SKU      string `json:"sku" maxLength:"96" minLength:"1" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Quantity int64  `json:"quantity" minimum:"1" maximum:"1000000"`
	Price    int64  `json:"price" minimum:"0" maximum:"1000000000" doc:"Of one piece, in minor units."`
}

type newMoney struct {
	Amount   int64  `json:"amount" minimum:"0" maximum:"1000000000000000" doc:"In minor units."`
	Currency string `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
}

// items turns lines into stored ones: a SKU is the tenant's, like everything.
func (t tenant) items(lines []newLine) []transitions.Item {
	out := make([]transitions.Item, len(lines))
	for i, l := range lines {
		out[i] = transitions.Item{SKU: t.stored(l.SKU), Quantity: l.Quantity, Price: l.Price}
	}

	return out
}
