// Package scheduled keeps requests for later: transition requests that are judged and applied at a time that their
// caller has named.
//
// # Model
//
// [Schedule.Place] stores a request with its time, and a due row beside it. Until its time has come, it can be moved
// ([Schedule.Move]) and withdrawn ([Schedule.Withdraw]). [Schedule.Sweep] finds the requests that are due, and applies
// each under its own request id: one transaction moves the order, ends the request and deletes its row. If the order
// refuses the request, the verdict is stored with it, and the request has ended, too. The stored request decides;
// the due row only says where to look.
//
//	s, err := scheduled.New(scheduled.Config{DynamoDB: client, Table: "scheduled", DueTable: "orders-due", Orders: orders})
//	placed, err := s.Place(ctx, transitions.Request{OrderID: "o-1", Event: "cancel", RequestID: "end-of-trial"}, at)
//
// # Guarantees
//
//   - A request is applied at most once, and never before its time, whatever the clocks of the machines say. A place, a move, a
//     withdrawal and the application of one request exclude each other by conditions: a request that was withdrawn
//     is never applied, and one that was applied is never withdrawn.
//
//   - It is judged within a minute after its time while sweeps run. After an outage, all that is due is judged,
//     oldest first. Requests of one order are judged in the order of their times.
//
//   - An order has at most 1,000 requests that wait in one life. A request is for the life in which the order was:
//     it does not move a later order with the same id.
//
//   - A repeat of Place with the same request id and content gets the stored request, whatever has become of it. Other
//     content under the id is refused with [ErrConflict].
//
// # Caveats
//
// A request that has ended is kept for 30 days after its end and its time. It has the caller's own attributes and the
// request id as they were given; [Schedule.Forget] deletes the requests of an order.
package scheduled
