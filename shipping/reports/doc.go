// Package reports turns the callbacks of a carrier into transitions of orders.
//
// # Model
//
// A [Receiver] judges a shipping.Report. Each report becomes a transition request under the
// report's own id, so a repeated report is Replayed:
//
//   - Shipped moves the order with "ship". For one of several parcels it counts the parcel's pieces.
//   - Delivered moves the order with "deliver".
//   - Returned moves the order with "request_return" and "receive_return".
//   - Lost moves no order, because the definition has no such state. The first report of a lost
//     parcel is recorded for a person.
//
// If an order has several parcels, Delivered and Returned are noted for each of them. When all parcels
// have come back, the order is returned. When each parcel was delivered or has come back, the order is
// delivered. If a parcel comes back and others do not, the amount of its lines (parcelAmount) is
// refunded, once.
//
// [Receiver.Take] is for a carrier that repeats its reports until they are accepted.
// [Receiver.Receive] is for a carrier that does not repeat its reports. It stores a report that comes
// too early, and [Receiver.Sweep] tries it again, with pauses from 15 s to an hour. A report is tried
// for a week, the report of a return for 30 days. A return that needs a person is stored with the
// reason and a command, and is tried again, too. It leaves the list when the person has acted, or has
// marked it as done ([Receiver.MarkDone]). A report that the order can never take is stored as refused
// for 30 days. That is also the answer to a report about a shipment of another life of the order: the
// report moves, records and refunds nothing.
//
// # Trust
//
// [Receiver.Callback] verifies the signature of a report; a caller of Receive or Take must trust the
// report's source. If the carrier can be asked (shipping.Asker), Receive believes a report only if the
// carrier's answer confirms it; the answer must also have the lines of a parcel. If the carrier does
// not answer, the report waits. If a report was applied, a repeat within 30 days is Applied, even if the
// carrier does not confirm it any more.
//
// # The table
//
//	waiting#<shard>, name              a report that waits or needs a person: report, effect, since, tries, nextTry, reason, command
//	refused, name                      a report that was refused: report, since, reason; TTL
//	done, name                         a report that a person has dealt with: report, reason, command, who, why, when; TTL
//	applied#<order id>, name           a digest of a report that was applied, if the carrier can be asked; TTL
//	parcels#<order id>, <incarnation>/-              delivered, returned: the names of parcels; TTL
//	parcels#<order id>, <incarnation>/lines/<name>   the parcel's lines; TTL
//	parcels#<order id>, <incarnation>/lost           the first report of a lost parcel; TTL
//
// The name is the order's id, a slash and the report's id, so that the reports of an order are found with one
// query of a partition. But a carrier may use an id again for another shipment, milestone or parcel. If the row
// with that name is about something else, the name goes on with a space and a digest of these fields and the
// order. So two reports with the same id are judged, stored and ended separately. A row is written on the
// condition that its name is free.
package reports
