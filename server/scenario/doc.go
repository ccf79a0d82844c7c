// Package scenario runs thousands of orders through a backend and checks the result. The
// demo, the benchmarks and the crash tests share it.
//
// A [Plan] describes the orders. [Plan.Drive] places them as executions, sends many
// requests twice or out of order, and cancels some orders while they run. [Plan.Recount]
// reads the tables item by item, without the packages that wrote them, and lists
// everything that is inconsistent. A [Session] does all of it with two workers, and its
// [Meter] counts verdicts and latencies.
//
// The package is public because programs of this module on several floors use it. It makes no
// promise: its names and its behavior may change in any version. For tests of your own programs there is
// server/ratchettest.
package scenario
