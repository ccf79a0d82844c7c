// Package audit keeps the acts of people: who did what, on what, when, with which result.
//
// # Model
//
// [Log.Begin] writes one row before the act, and [Act.End] adds the result. A process that dies in
// between leaves a row without a result: the act was tried, and its outcome is unknown. If the row
// cannot be written, the caller must refuse the act. [Log.List] returns the rows by time.
//
// # Guarantees
//
// Rows are only added: Begin writes under a new key, and End adds a result to a row that has none.
// Both are conditions of the write. A person or program with the permission to delete items can
// still delete rows: grant that permission to no identity.
//
// # What rows must not hold
//
// A row names things by their ids. It has no payloads, no secrets, no addresses and no error texts,
// which may quote any of these. [Entry.Reason] is the reason in a person's words.
//
// # Cost and clocks
//
// Two write units for each act. Rows are stored under their day and ordered by the clock of the
// process that wrote them, so acts of two machines may be listed in the wrong order. A row is
// removed by the table's time to live when its retention is over, and is not listed any more
// from then on.
package audit
