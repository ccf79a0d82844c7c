// Package transitions decides and applies one transition of one order, at the
// cost of one conditional write.
//
// # Model
//
// An order is one DynamoDB item with a state and a transitionId that only grows.
// A [Request] asks for an event under an id; [Orders.Apply] sends ONE UpdateItem
// whose condition holds the expected state, the event's guards and
// "transitionId < :id", and whose update leaves a trace of the request in the item
// (the ring, 8 slots). When the condition fails, DynamoDB returns the item as
// it stands, and the [Verdict] is read off that image alone; only evidence that the
// ring has already overwritten comes from the journal. Who issues the ids: a Step
// Functions execution computes them from its own data, so that its retries carry the
// same id; any other caller sends a RequestID and lets Apply assign current+1.
//
// The journal has one row per transition. The reader of the orders' stream writes it
// ([JournalByStream]), or the transition itself ([JournalTransactional]). From it come
// [Orders.History] and what an order must be ([Facts.Rebuild]). Package inspect shows from both
// where an order was, and compares all orders with their journals.
//
// Before payment the content of an order may be edited ([Orders.AddItems] and the
// others): one conditional write each, told apart by an event id, keeping the total
// in step with the lines. An edit is no transition; streams and executions do not see
// it. After payment its pieces may leave in parcels ([Orders.ShipParcel]): the state
// follows the quantities, in the same write.
//
// An order carries the version of the definition that moved it. One of a version that
// is not known here is ErrUnknownVersion, until [Orders.Migrate] has brought it to ours.
//
// To follow a request to its write, read the files in this order: apply.go (the call),
// plan.go (what it asks for), send.go (the write loop), judge.go and evidence.go (whether
// the order has decided it already), move.go (which transition the order would make),
// write.go (the expressions), transact.go (with the journal's row).
//
// # Guarantees
//
//   - For an order and a transitionId at most one request is ever applied.
//   - The transitionId of an order strictly increases, and every change of state
//     is one that the workflow definition allows, with its guards.
//   - Every call ends in exactly one verdict, or in an error that says whether the
//     outcome is known. Once Applied, every retry of the request is Replayed with
//     the same result; once Superseded, always Superseded. Refusals record nothing.
//   - An edit is applied at most once while the order remembers it: at least the
//     newest three quarters of [Config].EditMemory. None is applied after payment.
//   - A transition of an order up to 1 KB costs one write unit, and no read where the
//     id is given.
//
// A small program:
//
//	orders, err := transitions.New(transitions.Config{DynamoDB: client, Table: "ratchet-orders", JournalTable: "ratchet-order-events"})
//	...
//	result, err := orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2})
//
// # Caveats
//
// With an id given by the caller, the request IS (order, id, content): two callers
// that send the same event under the same id are one request to Apply. A caller
// that must be told apart sends a RequestID, too. A request whose write was sent
// and whose context then ended returns [ErrOutcomeUnknown]; sending the same
// request again tells what happened.
//
// Another program that writes items of an order must count contentVersion up. Addresses and
// notes are personal data: they print as placeholders and are never logged, but they
// are in the JSON of an [Order].
package transitions
