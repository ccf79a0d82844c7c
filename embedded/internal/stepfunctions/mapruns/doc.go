// Package mapruns keeps Map Runs: the records that count the children of distributed Maps.
//
// A [Run] changes in the batch of each turn that concerns it, of its parent or of one of its children
// ([Book.Apply]), so that the record always agrees with the executions. Between turns, [Book.Change] changes
// it. Either way it is listed: [Book.Take] returns the Map Runs that may have a next step. The steps, which
// are turns of executions, are the caller's.
//
// An execution has an [Origin]: its machine, or the Map Run that has started it. Its ARN follows from that.
package mapruns
