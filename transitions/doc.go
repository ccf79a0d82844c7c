// Package transitions applies transitions to orders, each with one conditional write.
//
// # Model
//
// An order is one DynamoDB item with a state and a transitionId that only grows. A
// [Request] asks for an event under an id. [Orders.Apply] sends one UpdateItem: its
// condition requires the expected state, the event's guards and "transitionId < :id", and
// its update records the request in the item (the ring, 8 slots). If the condition fails,
// DynamoDB returns the item as it is, and that image decides the [Verdict]. Requests that the
// ring has overwritten are looked for elsewhere: request ids in the table of requests, which
// the writer of a transition keeps, and given ids in the journal.
//
// A Step Functions execution computes the ids from its own data, so that its retries send
// the same id. Any other caller sends a RequestID and lets Apply assign the order's id
// plus one.
//
// The journal has one row per transition. The row is written by the reader of the orders'
// stream ([JournalByStream]) or together with the transition ([JournalTransactional]).
// [Orders.History] and [Facts.Rebuild] read it. Package operate/inspect shows where an order was,
// and compares orders with their journals.
//
// Before payment the content of an order may be edited ([Orders.AddItems] and others).
// Each edit is one conditional write, has an event id as its idempotency key, and keeps
// the total consistent with the lines. An edit is no transition: handlers of the stream
// and executions do not see it. After payment the order's pieces may leave in parcels
// ([Orders.ShipParcel]); the same write counts the pieces and sets the state.
//
// An order stores the version of the definition that made its newest transition. If this
// version is not known, the error is ErrUnknownVersion until [Orders.Migrate] has moved the
// order to a known version.
//
// Each call that writes an order is a plan, which decides by the order as far as it is known: an answer, a
// write, or what must be read first. One loop reads, sends, counts and waits. To follow a request to its write,
// read the files in this order: apply.go (the call and its plan), loop.go (the loop), judge.go and
// evidence.go (whether the order has decided it already), move.go (which transition the order would make),
// write.go (the expressions), requests.go (what becomes of the request id that leaves the ring),
// transact.go (with the journal's row).
//
// # Guarantees
//
//   - At most one request is ever applied per order and transitionId.
//   - The transitionId of an order strictly increases, and the workflow definition, with
//     its guards, allows every change of state.
//   - Every call ends in exactly one verdict, or in an error that says whether the
//     outcome is known. Every retry of a request that was Applied is Replayed with the
//     same transition, under every version of the definition, and every retry of a Superseded
//     request is Superseded. Refusals record nothing.
//   - Once an attempt of a write had no answer, only evidence ends the call in another answer
//     than ErrOutcomeUnknown: the order as it is, its journal, or the record of the request.
//   - An edit is applied at most once while the order remembers it: at least the
//     newest three quarters of [Config].EditMemory. None is applied after payment.
//   - A request with a request id is applied at most once, whether it comes with a given
//     id, an assigned id or an If-Match. This and the costs below need
//     [Config].RequestsTable.
//   - A transition of an order up to 1 KB costs one write unit and no read if the caller
//     gives the id and neither this request nor the request that leaves the ring has a
//     request id. With a request id it costs at most two read units and two write units,
//     however many transitions the order has made.
//
// A small program:
//
//	orders, err := transitions.New(transitions.Config{
//		DynamoDB: client, Table: "ratchet-orders",
//		JournalTable: "ratchet-order-events", RequestsTable: "ratchet-order-requests",
//	})
//	...
//	result, err := orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2})
//
// # Caveats
//
// A request without a RequestID is identified by its order, id and content: to Apply, two
// callers that send the same event under the same id have sent the same request. Callers
// that have to be distinguished send a RequestID as well.
//
// If the context ends after the write was sent, Apply returns [ErrOutcomeUnknown]. The
// verdict of the same request, sent again, tells what happened.
//
// Another program that changes the lines of an order must increment contentVersion.
//
// Addresses and notes are personal data. They print as placeholders and are never logged,
// but the JSON of an [Order] contains them.
package transitions
