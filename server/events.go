package server

import (
	"ratchet/transitions"
	"ratchet/workflow"
)

// Events are functions that the server calls when something happens. Each may be nil.
// They are called from many goroutines and must not block.
type Events struct {
	// Decided is called with the verdict on each transition request.
	Decided func(transitions.OrderID, workflow.Event, transitions.Verdict)
	// Reacted is called after a handler of the orders' stream has handled a change.
	Reacted func(handler string, change transitions.Change)
	// Consumed is called with the capacity units of each call that ended in a verdict.
	Consumed func(id transitions.OrderID, verdict transitions.Verdict, readUnits, writeUnits float64)
	// Billed is called with the table and the units that DynamoDB would bill for a request. Only the
	// embedded engine calls it, for the requests of all clients.
	Billed func(table string, readUnits, writeUnits float64)
	// Failed is called when the disk of the embedded engine fails; see [embedded.Config]. The process
	// must end after that.
	Failed func(error)
}
