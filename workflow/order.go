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

// Order returns the definition of an order. It holds what order systems agree on
// (commercetools, Saleor, Vendure, Medusa; see docs/orders.md): a paid order may
// be cancelled until the first parcel leaves, later only returned; a held order
// ships nothing and remembers whether it was paid; ends are final.
var Order = sync.OnceValue(func() *Definition {
	d, err := New(orderSpec())
	if err != nil {
		panic(err) // the spec below is constant: a test would have failed first
	}
	return d
})

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
			{Pay, []State{Pending}, PaymentReceived},
			{FailPayment, []State{Pending}, PaymentFailed},
			{Hold, []State{Pending}, OnHold},
			{Hold, []State{PaymentReceived}, PaidOnHold},
			{Release, []State{OnHold}, Pending},
			{Release, []State{PaidOnHold}, PaymentReceived},
			{ShipPart, []State{PaymentReceived, PartiallyShipped}, PartiallyShipped},
			{Ship, []State{PaymentReceived, PartiallyShipped}, Shipped},
			{Deliver, []State{Shipped}, Delivered},
			{RequestReturn, []State{Delivered}, ReturnRequested},
			{RejectReturn, []State{ReturnRequested}, Delivered},
			{ReceiveReturn, []State{ReturnRequested}, Returned},
			{Refund, []State{Returned}, Refunded},
			{Chargeback, []State{PaymentReceived, PartiallyShipped, Shipped, Delivered}, ChargedBack},
			{Close, []State{Delivered}, Completed},
			{Cancel, []State{Pending, OnHold, PaymentReceived, PaidOnHold}, Cancelled},
			{Expire, []State{Pending, OnHold}, Expired},
		},
	}
}
