package workflow

import "sync"

// The attributes that the guards of a payment compare, in minor units of one currency.
const (
	PaymentTotal    = "total"    // the price of the order
	PaymentCaptured = "captured" // what has been captured so far
	PaymentRefunded = "refunded" // what has been refunded so far
)

// Payment returns the definition of a payment: authorized, then captured and refunded in one or several
// parts. Guards on the amounts choose between partial and full states. The states are common to
// commercetools, Saleor and Stripe.
var Payment = sync.OnceValue(func() *Definition { return must(paymentSpec()) })

// must builds a definition of this package. The spec is constant and tested, so New does not fail.
func must(spec Spec) *Definition {
	d, err := New(spec)
	if err != nil {
		panic(err)
	}

	return d
}

func paymentSpec() Spec {
	// The guards come in pairs that exclude each other, so that an event can lead to two states.
	covered := Guard{Name: "total-covered", Attribute: PaymentCaptured, Op: opAtLeast, Other: PaymentTotal}
	part := Guard{Name: "part-covered", Attribute: PaymentCaptured, Op: opLess, Other: PaymentTotal}
	all := Guard{Name: "all-refunded", Attribute: PaymentRefunded, Op: opAtLeast, Other: PaymentCaptured}
	some := Guard{Name: "part-refunded", Attribute: PaymentRefunded, Op: opLess, Other: PaymentCaptured}
	untouched := Guard{Name: "nothing-refunded", Attribute: PaymentRefunded, Op: opEqual, Value: int64(0)}
	touched := Guard{Name: "something-refunded", Attribute: PaymentRefunded, Op: opMore, Value: int64(0)}
	none := Guard{Name: "nothing-captured", Attribute: PaymentCaptured, Op: opEqual, Value: int64(0)}
	taken := Guard{Name: "something-captured", Attribute: PaymentCaptured, Op: opMore, Value: int64(0)}
	pending := []State{"REFUND_PENDING"}

	return Spec{
		Name: "payment", Version: 1, Place: "open", Initial: "NONE",
		States: []StateSpec{
			{"NONE", false, "nothing has been tried"},
			{"REQUIRES_ACTION", false, "the customer must confirm, for instance by 3-D Secure"},
			{"AUTHORIZED", false, "the money is held, not taken"},
			{"AUTH_EXPIRED", false, "the hold ran out; it may be asked for again"},
			{"CAPTURING", false, "asked to take the money; the outcome is not known yet"},
			{"PARTIALLY_CAPTURED", false, "a part of the total is taken"},
			{"CAPTURED", false, "the total is taken"},
			{"VOIDED", true, "the hold was given up, nothing was taken"},
			{"REFUND_PENDING", false, "asked to give money back; the outcome is not known yet"},
			{"PARTIALLY_REFUNDED", false, "a part of what was taken is given back"},
			{"REFUNDED", true, "everything that was taken is given back"},
			{"CHARGED_BACK", true, "the bank took the money back"},
			{"FAILED", true, "declined for good"},
		},
		Transitions: []Transition{
			{Event: "require_action", From: []State{"NONE"}, To: "REQUIRES_ACTION"},
			{Event: "authorize", From: []State{"NONE", "REQUIRES_ACTION", "AUTH_EXPIRED"}, To: "AUTHORIZED"},
			{Event: "expire", From: []State{"AUTHORIZED"}, To: "AUTH_EXPIRED"},
			{Event: "fail", From: []State{"NONE", "REQUIRES_ACTION", "AUTHORIZED", "AUTH_EXPIRED"}, To: "FAILED"},
			// A capture can fail after an earlier part of the money was taken.
			{Event: "fail", From: []State{"CAPTURING"}, To: "FAILED", Guards: []Guard{none}},
			{Event: "fail", From: []State{"CAPTURING"}, To: "PARTIALLY_CAPTURED", Guards: []Guard{taken}},
			{Event: "void", From: []State{"NONE", "REQUIRES_ACTION", "AUTHORIZED", "AUTH_EXPIRED"}, To: "VOIDED"},
			{Event: "capture", From: []State{"AUTHORIZED", "PARTIALLY_CAPTURED"}, To: "CAPTURING"},
			{Event: "settle", From: []State{"CAPTURING"}, To: "CAPTURED", Guards: []Guard{covered}},
			{Event: "settle", From: []State{"CAPTURING"}, To: "PARTIALLY_CAPTURED", Guards: []Guard{part}},
			// Refunds may follow each other, and begin before the whole total is captured.
			{Event: "request_refund", From: []State{"PARTIALLY_CAPTURED", "CAPTURED", "PARTIALLY_REFUNDED"}, To: "REFUND_PENDING"},
			{Event: "refund", From: pending, To: "REFUNDED", Guards: []Guard{all}},
			{Event: "refund", From: pending, To: "PARTIALLY_REFUNDED", Guards: []Guard{some}},
			// A refund that failed leads back to the state that the amounts describe.
			{Event: "fail_refund", From: pending, To: "CAPTURED", Guards: []Guard{untouched, covered}},
			{Event: "fail_refund", From: pending, To: "PARTIALLY_CAPTURED", Guards: []Guard{untouched, part}},
			{Event: "fail_refund", From: pending, To: "PARTIALLY_REFUNDED", Guards: []Guard{touched}},
			{Event: "chargeback", From: []State{"PARTIALLY_CAPTURED", "CAPTURED", "REFUND_PENDING", "PARTIALLY_REFUNDED"}, To: "CHARGED_BACK"},
		},
	}
}
