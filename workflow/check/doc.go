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
// In an execution of a state machine without errors in its report, no refusal of a task stays without a
// Catch, no Choice is left without a rule, no path of JSONPath leads to nothing, and no loop fills the
// history by itself, provided that what follows is true. The position that a task returned is followed through
// the data as it was then: through Parameters, selectors, paths, variables, Parallel, Map and JSONata, while the
// order moves. What the check cannot follow is an error as soon as a state needs it (lost-position).
//
// # Caveats
//
// The config is trusted, and so is all data but the order's position: that the input of the execution and
// the results of tasks have what the state machine reads of them, in the type that it needs. The cause of an
// error of [Config.Overtaken] is the order's position as JSON. JSONata is followed as far as paths,
// variables, constants, objects, comparisons and a few functions; any other expression may return anything.
//
// Conditions on anything but the order's position may go either way, and so may guards, so a finding can be about
// a path that the data rules out. A loop that waits or that other data ends is a warning at most, and so are
// the time-outs and the size of an execution.
package check
