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
// A worker may die between any two of them. The record says which step is pending, and the key makes
// the request safe to repeat: a repeat of the call, [Payments.Recover] or the processor's callback
// finishes the step.
//
// A time-out says nothing about what happened. The package looks up the key at the
// processor and sends the request again only if the processor does not know the key. If
// there is still no answer, the call returns [ErrUnresolved] and the money stays set aside.
//
// [Payments.Cancel] gives back all money that a payment has taken, in any state, and closes its id,
// also before the payment exists. A charge or authorization that arrives later is refused.
//
// [IDForOrder] and [OpenOrderAccounts] give an order's payment its id and its accounts.
//
// payments/sandbox implements [Processor] for demonstrations and tests.
//
// # Guarantees
//
// Each step id has one effect. A repeat gets the first answer, other content under the id
// is [ErrConflict]. The sum of the captures never exceeds the authorized amount, and the sum of the
// refunds never exceeds the sum of the captures. Record and ledger change in one transaction, so no
// crash leaves one without the other.
//
// A step that the processor has carried out ends here, too, even when an account refuses the money. A
// refund whose payer's account is closed or full meanwhile, and a capture whose payee's account is
// full, credit a suspense account instead: the id of the account with ".suspense" after it. The
// step's Reason names it; a person moves the money on. A capture whose payee's account is closed is
// refunded at the processor.
//
// A callback needs a signature over its raw bytes and counts once per event id: the
// receipt is written in the transaction that acts on it. The package does not rely on what
// a callback says of a step or an expiry: it asks the processor. A callback that does not
// fit (unknown payment, other amount, other state) is parked for a person. An "expired"
// for a payment that was captured does nothing.
//
//	p, err := pay.Authorize(ctx, payments.NewPayment{ID: "p-1", OrderID: "o-1",
//		Payer: "processor", Payee: "shop", Amount: 1250, Currency: "EUR"})
//	p, err = pay.Capture(ctx, "p-1", payments.StepRequest{ID: "c-1", Amount: 1250})
//	p, err = pay.Cancel(ctx, "p-1")
//
// # Caveats
//
// The processor must act once per key. A payment has one pending step at a time; another
// request meanwhile returns [ErrBusy]. A payment has at most 50 captures and as many
// refunds.
package payments
