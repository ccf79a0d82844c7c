// Package lists keeps lists of orders, by state, by time, by customer and by reference, beside the table of
// orders.
//
// # Model
//
// The lists are a projection of the orders' stream: [Lists.Record] is a stream handler that
// updates the lists after a change. The lists add nothing to the cost of a transition. One
// table holds these kinds of rows:
//
//	listKey                          placeKey
//	state/<owner>/<STATE>/<shard>    <epoch ms of entering the state>#<order>
//	time/<owner>/<shard>             <epoch ms of placing>#<order>
//	customer/<owner>/<customer>      <epoch ms of placing>#<order>
//	reference/<owner>/<reference>    <epoch ms of placing>#<order>
//	order/<order>                    head: the newest transition that the lists show, and all rows
//
// The owner is the text before the colon of an order's id, and empty without a colon: the
// HTTP API puts the tenant there. A list is spread over 8 shards, by the hash of
// the order's id, so that a busy state is not bound to the throughput of one partition. A
// page reads all shards and merges them by time, newest first. The list of a customer has
// no shards: a customer places few orders at a time. To find a customer's orders in one state,
// all orders of the customer are read. The row in the list of the state says if the order's
// person was erased, so that a search for older orders to erase ([Lists.Unerased]) does not read
// them.
//
// # Guarantees
//
//   - The lists of an order change in one transaction, whose condition is the order's head.
//     The head's transition only grows: a late or repeated record changes nothing.
//
//   - A page shows orders as they are now. An order that has left the list since is left
//     out and counted, so a page is never wrong about a state, but may lack orders whose
//     changes are still to come.
//
//   - Before [Lists.Rebuild] has listed the orders that are older than the lists, they are
//     not ready ([Lists.Ready]). It also corrects what the lists show of orders that moved, were deleted
//     or were placed again while the lists were off, and says how much. It may be stopped and goes on.
//
//   - A worker without lists notes that it handles changes ([Lists.Missed]): from then on the lists are
//     not ready until they are rebuilt.
//
//   - An order that cannot be read is named by a page, and hides no other.
//
//   - A deleted order leaves the lists when [Lists.Remove] handles its record. Its head stays
//     for 30 days as a tombstone, so that late records do not list it again.
//
// # Caveats
//
// Orders that are placed under one customer by the thousand per second, such as all guests of
// a shop, exceed the throughput of one partition: leave the customer out for them.
package lists
