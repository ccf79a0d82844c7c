// Package restored makes tables fit together that were restored to earlier times.
//
// # Model
//
// DynamoDB restores each table by itself, under a new name and without its stream. Two tables that were
// restored to the same second may still show a transaction in part, and two that were restored to different
// moments contradict each other: an order is behind its journal or ahead of it, it is paid and has no payment,
// a notification waits about a transition that the order has not made. [Repair.Run] goes through all
// orders, while no worker runs:
//
//   - The journal is the evidence of what happened. An order that is behind its journal is brought forward to
//     its end. Rows that the journal lacks are written from the order's newest transitions. What neither
//     of them has is closed by a row "lost".
//   - A payment that the processor has made and the tables lack is asked for again under its old key,
//     which the processor answers with what it did. That holds for orders that are paid, and for orders that
//     are not paid as far as the tables know.
//   - Pieces of a paid order that are not reserved are reserved again.
//   - Each order gets a new incarnation. The effects of the transitions that it makes from now on have keys
//     that were never used.
//   - Waiting work of transitions that an order has not made any more is ended: notifications,
//     records in retry queues, dead letters.
//   - The changes that the orders still prove are given to the handlers of the stream again, because the
//     new stream has no record of them. Effects that have happened keep their keys.
//   - Each order that can still move gets an execution.
//
// # Guarantees
//
// Each step may be repeated. A call that was stopped is repeated with the same time of its beginning
// ([Config].Began): an order whose life began later is not renewed again.
//
// What a person must decide is listed and changes nothing.
//
// # Caveats
//
// Nothing may write meanwhile. An order that was placed after the time to which the table of orders was
// restored is not there: a caller that repeats its request places it again. Counters of stock are as
// they were restored; a count of the shelves corrects them. The tables of payments and of the ledger
// must be of one moment: package ledger verifies that, and [Repair.Run] does not.
package restored
