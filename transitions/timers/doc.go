// Package timers makes the transitions that time makes: those with [workflow.After].
//
// # Model
//
// A timed transition is a transition like any other: one conditional write of the order ([transitions.Orders.ApplyTimer]),
// with the guards of the definition and a request id of its own. So the order decides, and a process that looks
// too often, too late or with an old picture of the order does no harm.
//
// Beside the orders there is a table of due rows, which says where to look. A row is a hint: an order has one, at the
// first moment at which time may move it. [Timers.Record], a handler of the orders' stream, writes and deletes
// the rows, so that a transition costs what it costs without timers. [Timers.Sweep] reads the rows whose time has
// come, and computes what is due of each order from the order and its definition.
//
// # Guarantees
//
//   - A transition is made at most once for each start of its timer, and never before its moment, whatever the clocks of
//     the machines say: moments are compared with the time that the answers of DynamoDB state.
//
//   - It is made within a minute after its moment while sweeps run and the stream is handled. After an outage,
//     all that is due is made, oldest first, once.
//
//   - A transition whose guard does not hold is tried again while the order stays in the state: with the next
//     change of the order, and with growing waits of up to an hour.
//
// # Caveats
//
// Orders that are older than the timed transitions of their definition, or whose records the stream has
// lost, have no row until [Timers.Rebuild] writes it. [Timers.State] says whether that is needed.
package timers
