// Package ratchet is the root of Ratchet, the order state machine that only moves
// forward. It holds the state machine that Step Functions runs, and nothing else.
//
// A tour, in the direction in which data flows:
//
//	statemachine.asl.json   how an execution walks an order
//	activities/steps        what each of its tasks does
//	transitions             one transition of one order: one conditional write
//	streams/reactions       what follows a transition: shipping, notices, parked tasks
//	shipping, payments      the outside, reached once per key
//
//	workflow                what an order may do (states, events), checked
//	once, inventory, parked one table each: claims, stock, waiting executions
//	activities, streams     the runtimes below; they know no orders
//	embedded                DynamoDB, Streams and Step Functions in process, on disk
//	server                  wires all of it; cmd/ratchet is the command
//
// See docs/architecture.md.
package ratchet
