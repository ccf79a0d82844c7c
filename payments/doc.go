// Package payments takes and returns money, each step once in effect, and keeps the
// ledger in step with the processor.
//
// # Model
//
// A payment is one record with a state of workflow.Payment, the sums that were captured
// and refunded, and at most one step under way. Every step (authorize, capture, refund,
// void) is three moves: ONE transaction writes down what is about to be asked and sets
// the ledger's money aside; the [Processor] is asked under the key paymentId/stepId;
// ONE transaction writes what it answered together with the ledger's transfer, or with
// the release of what was set aside. A worker may die between any two: the record says
// what is under way, the key makes the question safe to repeat, and [Payments.Recover],
// a repeat of the call or the processor's callback goes on from there.
//
// A time-out says nothing about what happened: the processor is asked what became of
// the key, and only then asked again. An answer that stays away is [ErrUnresolved]; the
// money stays set aside.
//
// [Gateway] is the smaller contract that the order's steps use: charge once per key,
// void. [Sandbox] is a processor and a gateway for demos and tests, kept in DynamoDB.
//
// # Guarantees
//
// One effect per step id: a repeat gets the first answer, other content under it is
// [ErrConflict]. What is captured never exceeds what was authorized, and what is
// refunded what was captured. Record and ledger change in one transaction, so no crash
// leaves one without the other, and none refunds twice.
//
// A callback counts only with a signature over its raw bytes, and once per event id:
// the receipt is written in the transaction that acts on it. It is never believed: it
// makes this package ask the processor about a step that the payment has under way, and
// one that does not fit (unknown payment, other amount, other state) is parked for a
// person. A late "expired" for a payment that was captured does nothing.
//
//	p, err := pay.Authorize(ctx, payments.NewPayment{ID: "p-1", OrderID: "o-1",
//		Payer: "processor", Payee: "shop", Amount: 1250, Currency: "EUR"})
//	p, err = pay.Capture(ctx, "p-1", payments.Ask{ID: "c-1", Amount: 1250})
//
// # Caveats
//
// The processor must honour keys. One step of a payment is under way at a time; another
// one meanwhile is [ErrBusy]. A payment has at most [MaxSteps]
// captures and as many refunds.
package payments
