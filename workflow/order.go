package workflow

import "sync"

// The states of an order, from placing to the end.
const (
	Pending          State = "PENDING"
	OnHold           State = "ON_HOLD"
	PaymentFailed    State = "PAYMENT_FAILED"
	PaymentReceived  State = "PAYMENT_RECEIVED"
	PaidOnHold       State = "PAID_ON_HOLD"
	PartiallyShipped State = "PARTIALLY_SHIPPED"
	Shipped          State = "SHIPPED"
	Delivered        State = "DELIVERED"
	ReturnRequested  State = "RETURN_REQUESTED"
	Returned         State = "RETURNED"
	Refunded         State = "REFUNDED"
	ChargedBack      State = "CHARGED_BACK"
	Completed        State = "COMPLETED"
	Cancelled        State = "CANCELLED"
	Expired          State = "EXPIRED"
)

// Migrate is the event with which an order changes to another version of its definition,
// see [Migrations]. No definition may have it.
const Migrate Event = "migrate"

// Imported is the event with which an order comes here in a state that another program has given it. It is no
// event of any definition, and nothing follows from it but the journal and the lists. No definition may have it.
const Imported Event = "imported"

// IsReserved reports whether only Ratchet itself makes the event. It says where an order is and moves none.
func (e Event) IsReserved() bool { return e == Migrate || e == Imported }

// The events of an order.
const (
	Place         Event = "place"
	Pay           Event = "pay"
	FailPayment   Event = "fail_payment"
	Hold          Event = "hold"
	Release       Event = "release"
	ShipPart      Event = "ship_part"
	Ship          Event = "ship"
	Deliver       Event = "deliver"
	RequestReturn Event = "request_return"
	RejectReturn  Event = "reject_return"
	ReceiveReturn Event = "receive_return"
	Refund        Event = "refund"
	Chargeback    Event = "chargeback"
	Close         Event = "close"
	Cancel        Event = "cancel"
	Expire        Event = "expire"
)

// Order returns the definition of an order. It follows the common rules of order systems
// (commercetools, Saleor, Vendure, Medusa; see docs/guides/orders.md): a paid order may be canceled
// until the first parcel leaves, and only returned later; a held order ships nothing and
// remembers whether it was paid; terminal states are final.
var Order = sync.OnceValue(func() *Definition { return must(orderSpec()) })

func orderSpec() Spec {
	return Spec{
		Name: "order", Version: 1, Place: Place, Initial: Pending,
		States: []StateSpec{
			{Pending, false, "placed, not yet paid"},
			{OnHold, false, "stopped for review before payment"},
			{PaymentFailed, true, "the payment was declined for good"},
			{PaymentReceived, false, "paid; shipping starts"},
			{PaidOnHold, false, "stopped for review after payment; ships nothing"},
			{PartiallyShipped, false, "some parcels have left"},
			{Shipped, false, "every parcel has left"},
			{Delivered, false, "the customer has it"},
			{ReturnRequested, false, "the customer wants to send it back"},
			{Returned, false, "the goods are back"},
			{Refunded, true, "the goods are back and the money is returned"},
			{ChargedBack, true, "the bank took the money back"},
			{Completed, true, "delivered and the return window is over"},
			{Cancelled, true, "stopped before the first parcel left"},
			{Expired, true, "never paid in time"},
		},
		Transitions: []Transition{
			{Event: Pay, From: []State{Pending}, To: PaymentReceived},
			{Event: FailPayment, From: []State{Pending}, To: PaymentFailed},
			// Two states on hold, so that a release leads back to where the order was.
			{Event: Hold, From: []State{Pending}, To: OnHold},
			{Event: Hold, From: []State{PaymentReceived}, To: PaidOnHold},
			{Event: Release, From: []State{OnHold}, To: Pending},
			{Event: Release, From: []State{PaidOnHold}, To: PaymentReceived},
			// Also from PARTIALLY_SHIPPED to itself: each further parcel is a transition with an ID.
			{Event: ShipPart, From: []State{PaymentReceived, PartiallyShipped}, To: PartiallyShipped},
			{Event: Ship, From: []State{PaymentReceived, PartiallyShipped}, To: Shipped},
			{Event: Deliver, From: []State{Shipped}, To: Delivered},
			{Event: RequestReturn, From: []State{Delivered}, To: ReturnRequested},
			{Event: RejectReturn, From: []State{ReturnRequested}, To: Delivered},
			{Event: ReceiveReturn, From: []State{ReturnRequested}, To: Returned},
			{Event: Refund, From: []State{Returned}, To: Refunded},
			{Event: Chargeback, From: []State{PaymentReceived, PartiallyShipped, Shipped, Delivered}, To: ChargedBack},
			{Event: Close, From: []State{Delivered}, To: Completed},
			// An order whose first parcel has left can only be returned.
			{Event: Cancel, From: []State{Pending, OnHold, PaymentReceived, PaidOnHold}, To: Cancelled},
			{Event: Expire, From: []State{Pending, OnHold}, To: Expired},
		},
		// Nothing has been charged, packed or sent yet.
		Editable: []State{Pending, OnHold},
		Settled:  []State{Delivered, ReturnRequested, Returned, Refunded, Completed},
		Shipping: Shipping{
			Awaits:    []State{PaymentReceived, PartiallyShipped},
			Held:      []State{PaidOnHold},
			Part:      ShipPart,
			Left:      Ship,
			Delivered: Deliver,
			Returned:  []Event{RequestReturn, ReceiveReturn},
			Stop:      Cancel,
		},
	}
}
