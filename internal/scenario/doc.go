// Package load makes orders by the thousand and checks what became of them.
//
// A [Plan] says which orders there are. [Drive] places them as executions, sends
// many requests twice and out of order, and cancels some orders on the way. [Recount]
// reads the tables item by item, without the packages that wrote them, and lists
// everything that does not add up. The demo, the benchmarks and the crash tests
// share it.
package scenario
