// Package payments takes and returns money, each step once in effect, and keeps the ledger
// in step with the processor.
//
// # Model
//
// A payment is one record with a state of workflow.Payment, the sums that were captured and
// refunded, and at most one pending step. It is opened by a charge, which takes the money at
// once, or by an authorization, of which parts are captured later. Every step (charge,
// authorize, capture, refund, void) has three parts:
//
//   - ONE transaction stores the step as pending and sets the money aside in the ledger, if
//     the step needs money that may run out.
//   - The [Processor] gets a request under the key paymentId/stepId.
//   - ONE transaction stores its answer together with the ledger's transfer, or with the
//     release of the money that was set aside.
//
// A worker may die between any two of these parts. The record then says which step is pending, and
// the key makes it safe to repeat the request. A repeat of the call, [Payments.Recover] or the
// processor's callback finishes the step.
//
// After a time-out it is not known whether the processor made the step. The package looks up the key
// at the processor. It sends the request again only if the processor does not know the key or does
// not answer the look-up. If there is still no answer, the call returns [ErrUnresolved] and the money
// stays set aside.
//
// [Payments.Cancel] gives back all money that a payment has taken, in any state, and closes the
// payment's id. It may be called before the payment exists. A charge or authorization that arrives
// later is refused.
//
// [IDForOrder] and [OpenOrderAccounts] give the payment of an order's life its id and its accounts.
//
// payments/sandbox implements [Processor] for demonstrations and tests.
//
// # Guarantees
//
// Each step id has one effect. A repeat gets the first answer. A request with the same id and other
// content gets [ErrConflict]. The sum of the captures never exceeds the authorized amount, and the
// sum of the refunds never exceeds the sum of the captures. The record and the ledger change in one
// transaction, so a crash cannot change only one of them.
//
// When the processor has carried out a step, the step also ends in the payment, even if the account
// to credit refuses the money:
//
//   - A refund whose payer's account is closed or full, and a charge or capture whose payee's account
//     is full, credit a suspense account instead. Its id is the account's id with ".suspense" after
//     it. The step's Reason names it. A person moves the money on.
//   - A capture whose payee's account is closed is refunded at the processor. A charge is voided there.
//
// A callback needs a signature over its raw bytes and counts once per event id. The receipt of a step
// that ended or of a chargeback is written in the transaction that acts on the callback. An expiry's
// receipt is written afterwards; a repeat finds the payment expired. The package does not rely on
// what a callback says about a step or an expiry: it asks the processor. A callback that does not fit
// (unknown payment, other amount, other state) is parked for a person. The event "expired" changes
// nothing if the payment was captured.
//
//	p, err := pay.Authorize(ctx, payments.NewPayment{ID: id,
//		OrderID: "o-1", Payer: "processor", Payee: "shop", Amount: 1250, Currency: "EUR"})
//	p, err = pay.Capture(ctx, p.ID, payments.StepRequest{ID: "c-1", Amount: 1250})
//	p, err = pay.Cancel(ctx, p.ID)
//
// # Caveats
//
// The processor must act once per key. A payment has one pending step at a time; a request for
// another step returns [ErrBusy] until the first one has ended. A payment has at most 50 captures and
// 50 refunds; Cancel may add more refunds.
package payments
