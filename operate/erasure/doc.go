// Package erasure removes a person from what is stored about an order.
//
// # Model
//
// The person of an order is in its item (customer, reference, addresses, metadata, notes, causes), in
// its journal (actors and texts of causes), in its deliveries, in dead letters, in the log of refusals,
// in reports of the carrier and in the lists of customers and references. [Eraser.Erase] goes through
// them and comes to the item last, by one conditional write: an order whose item is erased is erased
// everywhere, and one whose erasure was interrupted is found again by its customer.
//
// State, transitions, lines, amounts and payments stay: they show the goods, but not
// the buyer.
//
// # Guarantees
//
//   - An order that has not ended is refused, and so is an order with work that is not finished: a
//     change that waits in a retry queue, a report of the carrier, a missing row of the journal. A
//     handler of a later record does not bring the person back. If it fails, its record waits in a
//     retry queue, so that a repeat is refused, or is a dead letter, which a repeat erases.
//   - The erasure is no transition: no journal row, no notification and no effect follows from it.
//   - A repeat changes nothing.
//
// # Caveats
//
// docs/operate/privacy.md says what this package cannot reach: records of the orders' stream for 24 hours, the
// histories of executions, messages in queues, backups, stored answers of the HTTP API, and the reasons
// that operators have given for their acts.
package erasure
