// Package reports turns the callbacks of a carrier into transitions of orders.
//
// # Model
//
// A [Desk] judges a shipping.Report. Each report becomes a transition request under the
// report's own id, so a repeated report is Replayed. Shipped moves the order with "ship" or, for
// one of several parcels, counts its pieces; Delivered, with "deliver"; Returned, with
// "request_return" and "receive_return". With several parcels, Delivered and Returned are noted
// for each of them, and the order moves with the last one. A lost parcel moves no order, because
// the definition has no such state: it is recorded under a once-lock for a person.
//
// [Desk.Take] is for a carrier that repeats its reports until they are accepted. [Desk.Receive]
// is for one that does not: a report that comes too early is stored, and [Desk.Sweep] tries it
// again, with pauses from 15 s to an hour, for a week. A report that the order can never take is
// stored as refused, for 30 days.
//
// # Trust
//
// The caller has verified the signature. If the carrier can be asked (shipping.Asker), Receive
// believes a report only when the carrier's answer confirms it; a carrier that does not answer
// makes the report wait.
//
// # The table
//
//	waiting#<shard>, report id    a report that waits: report, since, tries, nextTry, reason
//	refused, report id            one that was refused: report, at, reason; TTL
//	parcels#<order id>, -         delivered, returned: the names of parcels
package reports
