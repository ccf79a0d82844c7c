// Package scenario runs thousands of orders through a backend and checks the result. The
// demo, the benchmarks and the crash tests share it.
//
// A [Plan] describes the orders. [Plan.Drive] starts their executions in random order, sends many
// requests twice, and cancels some orders while they run. [Plan.Recount] reads most tables item by item,
// without the packages that wrote them, and lists everything that is inconsistent. A [Session] does all
// of this with two workers. Its [Meter] counts verdicts and measures latencies.
//
// The package is public because programs in several folders of this module use it. It makes no promise:
// its names and its behavior may change in any version. For tests of your own programs use
// server/ratchettest.
package scenario
