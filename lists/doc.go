// Package lists keeps lists of orders, by state and by time, beside the table of orders.
//
// # Model
//
// The lists are a projection of the orders' stream: [Lists.Record] is a stream handler that
// writes what a change means for them. A transition itself costs what it costs without
// lists. One table holds three kinds of rows:
//
//	listKey                          placeKey
//	state/<owner>/<STATE>/<shard>    <epoch ms of entering the state>#<order>
//	time/<owner>/<shard>             <epoch ms of placing>#<order>
//	order/<order>                    head: the newest transition that the lists show
//
// The owner is what stands before the colon of an order's id, and empty without one: the
// HTTP API stores the orders of a tenant so. A list is spread over 8 shards, by the hash of
// the order's id, so that a busy state is not bound to the throughput of one partition. A
// page reads all shards and merges them by time, newest first.
//
// Orders have no customer today. A list by customer needs rows of one more kind,
// customer/<owner>/<customer>, without shards, written in the same transaction.
//
// # Guarantees
//
//   - The lists of an order change in one transaction, whose condition is the order's head.
//     Its transition only grows: a record that comes late or again changes nothing.
//   - A page shows orders as they are now. An order that has left the list since is left
//     out and counted, so a page is never wrong about a state, but may lack orders whose
//     changes are still to come.
//   - Before [Lists.Rebuild] has listed the orders that are older than the lists, they are
//     not ready ([Lists.Ready]).
//
// # Caveats
//
// The head of a deleted order stays, and its rows are left out of each page.
package lists
