// Package reports turns the callbacks of a carrier into transitions of orders.
//
// # Model
//
// A [Receiver] judges a shipping.Report. Each report becomes a transition request under the
// report's own id, so a repeated report is Replayed. Shipped moves the order with "ship" or, for
// one of several parcels, counts its pieces; Delivered, with "deliver"; Returned, with
// "request_return" and "receive_return". With several parcels, Delivered and Returned are noted
// for each of them: when all have come back, the order is returned; when each was delivered or has
// come back, it is delivered. A parcel that comes back while others do not is refunded by the
// amount of its lines (parcelAmount), once. A lost parcel moves no order, because the definition
// has no such state: it is recorded for a person, with the first report.
//
// [Receiver.Take] is for a carrier that repeats its reports until they are accepted. [Receiver.Receive]
// is for a carrier that does not repeat: a report that comes too early is stored, and
// [Receiver.Sweep] tries it again, with pauses from 15 s to an hour, for a week, and the report of a
// return for 30 days. A return that needs a person is stored with the cause and a command, and tried
// again for 30 days, too: it leaves the list when the person has acted, or has said so
// ([Receiver.MarkDone]). A report that the order can never take is stored as refused, for 30 days.
//
// # Trust
//
// The caller has verified the signature. If the carrier can be asked (shipping.Asker), Receive
// believes a report only when the carrier's answer confirms it, with the lines of a parcel; a
// carrier that does not answer makes the report wait. A repeat of a report that was applied within 30
// days is Applied, whatever the carrier says by then.
//
// # The table
//
//	waiting#<shard>, name              a report that waits or needs a person: report, effect, since, tries, nextTry, reason, command
//	refused, name                      a report that was refused: report, since, reason; TTL
//	done, name                         a report that a person has dealt with: report, reason, command, who, why, when; TTL
//	applied#<order id>, name           a digest of a report that was applied, if the carrier can be asked; TTL
//	parcels#<order id>, -              delivered, returned: the names of parcels; TTL
//	parcels#<order id>, lines/<name>   the parcel's lines; TTL
//	parcels#<order id>, lost           the first report of a lost parcel; TTL
//
// The name is the report's id. A carrier may use an id again, for another order, shipment, milestone or
// parcel. If the row of that name is about something else, the name is the id, a space and a digest
// of these four, so reports with the same id are judged, stored and ended separately. The write is
// made on condition that its name is free.
package reports
