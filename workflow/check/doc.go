// Package check compares a Step Functions state machine with the definition of the orders
// that it moves.
//
// [StateMachine] explores the product of a state machine in Amazon States Language and a
// definition, with other callers moving the order at any moment, and reports what cannot
// work, with the shortest path that shows it. It also lints the language (Retry, Catch,
// time-outs, heartbeats) and estimates what an execution costs.
//
// The package knows no activities. A [Config] describes the effects of a state machine's tasks and names
// their errors. activities/steps has the Config of Ratchet's own steps:
//
//	cfg := steps.CheckConfig()
//	cfg.File = "statemachine.asl.json"
//	report, err := check.StateMachine(asl, workflow.Order(), cfg)
//
// # Guarantees
//
// The package is pure: no clock, no I/O. A report depends on the arguments only. Findings
// are about paths that exist in the graph; the Code of each finding is stable and has a
// state machine in testdata that shows it.
//
// # Caveats
//
// The config is trusted. JSONata expressions, and conditions on anything but the order's
// state, may go either way, so a finding can be about a path that the data rules out. The
// branches of a Parallel and the items of a Map are followed one at a time.
package check
