package workflow

import (
	"fmt"
	"sync"
)

// Shipment returns the definition of one shipment, a small machine beside the
// order's; an order may have several. The states are those of Shopify's fulfilment
// orders and Vendure's fulfilments.
var Shipment = sync.OnceValue(func() *Definition { return must(shipmentSpec()) })

func shipmentSpec() Spec {
	return Spec{
		Name: "shipment", Version: 1, Place: "open", Initial: "OPEN",
		States: []StateSpec{
			{"OPEN", false, "known, not yet planned"},
			{"SCHEDULED", false, "planned for a day"},
			{"ON_HOLD", false, "stopped until somebody releases it"},
			{"IN_PROGRESS", false, "being picked and packed"},
			{"SHIPPED", false, "handed to the carrier"},
			{"DELIVERED", false, "the customer has it"},
			{"RETURNED", true, "back in the house"},
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
			{Event: "return", From: []State{"SHIPPED", "DELIVERED"}, To: "RETURNED"},
			{Event: "cancel", From: []State{"OPEN", "SCHEDULED", "ON_HOLD", "IN_PROGRESS"}, To: "CANCELLED"},
			{Event: "fail", From: []State{"IN_PROGRESS", "SHIPPED"}, To: "FAILED"},
		},
	}
}

// Line is one line of an order in pieces.
type Line struct {
	// Ordered is what was bought and not cancelled; Shipped, Delivered and Returned
	// are sums over all shipments. None is negative, each is at most the one before.
	Ordered, Shipped, Delivered, Returned int64
}

// Progress says how much of an order has come to a point.
type Progress string

// The progresses.
const (
	ProgressNone    Progress = "none"
	ProgressPartial Progress = "partial"
	ProgressAll     Progress = "all"
)

// OrderProgress is what [ShipmentProgress] finds.
type OrderProgress struct {
	// Shipped and Delivered count against the pieces ordered, Returned against those
	// delivered.
	Shipped, Delivered, Returned Progress
}

// ShipmentProgress derives from quantities how far the shipments of an order are. It
// does not depend on the order in which parcels left or arrived. An order without
// pieces has progressed nowhere. A line that counts more than there can be is an error.
func ShipmentProgress(lines []Line) (OrderProgress, error) {
	var sum Line
	for i, l := range lines {
		if l.Returned < 0 || l.Returned > l.Delivered || l.Delivered > l.Shipped || l.Shipped > l.Ordered {
			return OrderProgress{}, fmt.Errorf("line %d: of %d ordered pieces %d were shipped, %d delivered and %d returned: each must be at most the one before",
				i, l.Ordered, l.Shipped, l.Delivered, l.Returned)
		}
		sum.Ordered += l.Ordered
		sum.Shipped += l.Shipped
		sum.Delivered += l.Delivered
		sum.Returned += l.Returned
	}

	return OrderProgress{progress(sum.Shipped, sum.Ordered), progress(sum.Delivered, sum.Ordered), progress(sum.Returned, sum.Delivered)}, nil
}

func progress(n, of int64) Progress {
	switch {
	case n == 0:
		return ProgressNone
	case n < of:
		return ProgressPartial
	}

	return ProgressAll
}

// ShippedEvent is the event that tells the order of its shipments: [Ship] when every
// piece has left, [ShipPart] when some have, "" when none has.
func (p OrderProgress) ShippedEvent() Event {
	switch p.Shipped {
	case ProgressAll:
		return Ship
	case ProgressPartial:
		return ShipPart
	}

	return ""
}
