// Package ratchet is the root of Ratchet, the order state machine that only moves
// forward. It holds the state machine that Step Functions runs, and imports nothing of ours.
//
// The packages, in the direction in which data flows:
//
//	statemachine.asl.json    the states of an execution
//	activities/steps         the work of each of its tasks
//	queues/requests, api     transition requests from SQS and HTTP
//	transitions              one transition of one order: one conditional write
//	streams/reactions        reactions to it: journal, shipping, notifications, parked tasks
//	shipping, payments,      effects outside, once per key
//	notify
//
// The other packages:
//
//	workflow                 the definition of an order: states, events, guards
//	once, once/actions       claims and one-time actions
//	once/ledger, inventory   money and stock
//	once/txn                 one transaction made of named parts
//	activities, streams,     the runtimes for Step Functions activities, DynamoDB
//	queues                   Streams and SQS; they know no orders
//	embedded                 DynamoDB, DynamoDB Streams, Step Functions and SQS in process,
//	                         on disk
//	operate                  what an operator uses: inspect, executions, doctor, and more
//	server                   wires all packages; server/ratchettest is a test kit for your programs
//	cmd                      cli is the command line, ratchet the command
//
// docs/internals/architecture.md shows how they work together.
package ratchet
