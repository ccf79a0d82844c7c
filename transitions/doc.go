// Package transitions decides and applies one transition of one order, at the
// cost of one conditional write.
//
// # Model
//
// An order is one DynamoDB item with a state and a transitionId that only grows.
// A [Request] asks for an event under an id; [Orders.Apply] sends ONE UpdateItem
// whose condition holds the expected state and "transitionId < :id", and whose
// update leaves a trace of the request in the item (the ring, [RingSize] slots).
// When the condition fails, DynamoDB returns the item as it stands, and the
// [Verdict] is read off that image alone; only evidence that the ring has already
// overwritten comes from the journal. Who issues the ids: a Step Functions
// execution computes them from its own data, so that its retries carry the same
// id; any other caller sends a RequestID and lets Apply allot current+1.
//
// # Guarantees
//
//   - For an order and a transitionId at most one request is ever applied.
//   - The transitionId of an order strictly increases, and every change of state
//     is one that the workflow definition allows.
//   - Every call ends in exactly one verdict, or in an error that says whether the
//     outcome is known. Once Applied, every retry of the request is Replayed with
//     the same result; once Superseded, always Superseded. Refusals record nothing.
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
package transitions
