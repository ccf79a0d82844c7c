package workflow

import (
	"fmt"
	"sync"
)

// Shipment returns the definition of one shipment; an order may have several. The states come from
// Shopify's fulfillment orders and Vendure's fulfillments.
var Shipment = sync.OnceValue(func() *Definition { return must(shipmentSpec()) })

func shipmentSpec() Spec {
	return Spec{
		Name: "shipment", Version: 1, Place: "open", Initial: "OPEN",
		States: []StateSpec{
			{"OPEN", false, "known, not yet planned"},
			{"SCHEDULED", false, "planned for a day"},
			{"ON_HOLD", false, "stopped until it is released"},
			{"IN_PROGRESS", false, "being picked and packed"},
			{"SHIPPED", false, "handed to the carrier"},
			{"DELIVERED", false, "the customer has it"},
			{"RETURNED", true, "back in the warehouse"},
			{"CANCELLED", true, "stopped before the carrier had it"},
			{"FAILED", true, "lost or destroyed"},
		},
		Transitions: []Transition{
			{Event: "schedule", From: []State{"OPEN"}, To: "SCHEDULED"},
			{Event: "hold", From: []State{"OPEN", "SCHEDULED"}, To: "ON_HOLD"},
			{Event: "release", From: []State{"ON_HOLD"}, To: "OPEN"},
			{Event: "start", From: []State{"OPEN", "SCHEDULED"}, To: "IN_PROGRESS"},
			{Event: "ship", From: []State{"IN_PROGRESS"}, To: "SHIPPED"},
			{Event: "deliver", From: []State{"SHIPPED"}, To: "DELIVERED"},
			// From SHIPPED, too: a parcel may come back undelivered.
			{Event: "return", From: []State{"SHIPPED", "DELIVERED"}, To: "RETURNED"},
			// A parcel that the carrier has cannot be canceled: it is delivered, returned or lost.
			{Event: "cancel", From: []State{"OPEN", "SCHEDULED", "ON_HOLD", "IN_PROGRESS"}, To: "CANCELLED"},
			{Event: "fail", From: []State{"IN_PROGRESS", "SHIPPED"}, To: "FAILED"},
		},
	}
}

// Line counts the pieces of one line of an order.
type Line struct {
	// Ordered is the number of pieces that were bought and not canceled. Shipped is the sum over all
	// shipments, from 0 to Ordered.
	Ordered, Shipped int64
}

// ShippedEvent returns the event that tells the order of its shipments: [Ship] if every piece has left,
// [ShipPart] if some have, "" if none has or the order has no pieces. The order in which parcels left does
// not matter. A line that ships fewer than 0 or more than the ordered pieces is an error.
func ShippedEvent(lines []Line) (Event, error) {
	some, all := false, true // no sums, which might overflow
	for i, l := range lines {
		if l.Shipped < 0 || l.Shipped > l.Ordered {
			return "", fmt.Errorf("line %d: of %d ordered pieces %d were shipped", i, l.Ordered, l.Shipped)
		}

		some = some || l.Shipped > 0
		all = all && l.Shipped == l.Ordered
	}

	switch {
	case !some:
		return "", nil
	case !all:
		return ShipPart, nil
	}

	return Ship, nil
}
