// Package processes keeps one row for each running process of Ratchet, so that anyone can see
// what runs where, how much it does, and what is missing.
//
// # Model
//
// [Store.Run] writes the row of its process every ten seconds, with a number that grows: the beat.
// When the process is stopped, it marks the row as ended; a process that is killed cannot, so its
// row stays as it is. [Store.Check] reads all rows once and [Watcher.Look] reads them again and
// again; both say of each process whether it is live, missing, ended or failed. [Store.ClaimSurvey]
// lets one of the processes count the stuck orders for all of them.
//
// # Clocks
//
// The rows decide nothing: they are shown, and alarms watch them. Leases and claims have conditions
// of their own. A process is missing when its beat does not change, judged by the reader's own
// monotonic clock. Only a reader that looks once trusts the time in the row, and only to call a
// process live without waiting for its next beat.
//
// # Cost
//
// One write unit every ten seconds for each process: a row has less than 1 KB. The rows are under
// one partition key, which allows 1,000 writes a second, so ten thousand processes. A row lives for
// an hour after its last beat.
package processes
