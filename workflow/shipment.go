package workflow

import "sync"

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
