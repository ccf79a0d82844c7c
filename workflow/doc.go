// Package workflow says what an order may do: its states, its events, and which
// event leads from which state to which. It also checks that a Step Functions state
// machine asks for nothing else.
//
// # Model
//
// A [Definition] is an immutable table (state, event) → state with a name and a
// version. It is built from a [Spec], by way of a looplab/fsm machine: the machine
// is the definition and the oracle, the table is what runs. [New] refuses a spec
// with a duplicate or unknown pair, an unreachable state or a dead end, and then
// asks the machine about every pair; a definition whose table and machine
// disagree is never returned. [Order] is the definition of Ratchet's own orders;
// [Payment] and [Shipment] are small machines beside it. [Parse] reads a spec from a
// file and names the line of every fault.
//
// A transition may have guards, conditions on the order's data. They are a closed
// set that DynamoDB can evaluate, too: [RenderGuards] makes them a part of the
// conditional write, [Guard.Holds] answers the same in Go. Partial states come from
// quantities and money: [ShipmentProgress], [ChargeStatus].
//
// [Check] explores the product of a state machine in Amazon States Language and a
// definition, with other people moving the order at any moment, and reports what
// cannot work with the shortest path that shows it. [Migrations] says what becomes
// of orders under another version.
//
// # Guarantees
//
// The package is pure: no clock, no I/O, no SDK. A Definition may be used by any
// number of goroutines; a looplab machine, which may not (a cancelled context or
// a panic wedges it for good, https://github.com/looplab/fsm/issues/115), is made
// afresh whenever it has moved and never leaves [New]. [Definition.Next] allocates nothing.
//
//	next, ok := workflow.Order().Next("PENDING", "pay") // PAYMENT_RECEIVED, true
//	report, err := workflow.Check(asl, workflow.Order(), workflow.CheckOptions{})
//
// # Caveats
//
// A self-transition (ship_part from PARTIALLY_SHIPPED) is a transition like any
// other: it is recorded and gets an id. looplab/fsm answers it with
// NoTransitionError, which the cross-check reads as "stays".
//
// Check trusts what it is told about tasks ([CheckOptions]); JSONata expressions and
// conditions on other data than the order's state may go either way. It follows the
// branches of a Parallel and the items of a Map one at a time.
package workflow
