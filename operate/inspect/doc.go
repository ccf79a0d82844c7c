// Package inspect reads orders and their journals, for people and for checks. It never
// writes.
//
// # Model
//
// Every function takes the [transitions.Orders] that it reads:
//
//   - [Explain] says why one order is in its state, and which events it accepts now.
//   - [StateAt] and [StateAfter] say where one order was.
//   - [List] returns orders page by page.
//   - [Count] counts all orders by state and by version of the definition.
//   - [Verify] compares every order with its journal.
//
// # Cost
//
// All reads are strongly consistent: one read unit for each 4 KB. List, Count and Verify
// scan the table of orders, which costs as much as the table is large, whatever they
// return. They are not for a hot path.
//
// # Caveats
//
// Orders may move while they are read. Each order is shown as it was when its item was read. A
// journal that is written from the stream lags behind its orders; Explain, StateAt and StateAfter
// take the missing transitions from the order's ring, as long as it has them, and say what is
// missing.
package inspect
