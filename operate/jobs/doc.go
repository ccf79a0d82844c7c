// Package jobs does one act to many subjects: redrives executions, redrives or discards dead letters, resends
// deliveries, erases orders.
//
// # Model
//
// [Store.Create] stores a [Job]: its kind, a filter or the ids of its subjects, who asks for it and why. A
// [Runner] takes it by a lease, selects the subjects, writes one row for each, and then acts on one after the
// other, in the order of the rows. A job is paused, resumed and stopped by a write to its item, which its owner
// follows within seconds. A dry run only counts what would be selected, and keeps a sample.
//
// # Guarantees
//
//   - Each write of an owner is conditional on the epoch of its lease. Taking a job over raises the epoch, so a
//     former owner records nothing, and ends its work when it notices.
//   - The result of a subject and the counts of the job are one transaction: the counts add up to the rows.
//   - If an owner dies between an act and its record, the next owner acts again, with what the selection has
//     seen of the subject. An act that has happened since then is recorded and not repeated.
//   - A job ends as done only if every selected row has a result. If rows have expired before, it has failed.
//   - Each act is written to the audit log before it begins, under an id made of the job's and the subject's.
//   - There is one open job of a kind for each tenant.
//
// # What rows must not hold
//
// A row has the id of its subject, a mark of its version, and the code of the result. It has no error text.
package jobs
