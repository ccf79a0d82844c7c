// Package ratchet is the root of Ratchet, the order state machine that only moves
// forward. It holds the state machine that Step Functions runs, and imports nothing.
//
// The packages, in the direction in which data flows:
//
//	statemachine.asl.json    how an execution walks an order
//	activities/steps         what each of its tasks does
//	queues/requests, api     transition requests from SQS and HTTP
//	transitions              one transition of one order: one conditional write
//	streams/reactions        what follows: journal, shipping, notifications, parked tasks
//	shipping, payments,      the outside, reached once per key
//	notify, webhooks
//
// What they stand on:
//
//	workflow                 what an order may do: states, events, guards
//	once, actions            claims and one-time actions
//	ledger, inventory        money and stock
//	tasktoken                task tokens of waiting executions
//	txn                      one transaction composed of parts
//	activities, streams,     the runtimes for Step Functions activities, DynamoDB
//	queues                   Streams and SQS; they know no orders
//	embedded                 DynamoDB, Streams, Step Functions and SQS in process, on disk
//	inspect                  reads: explain, verify, list, count
//	server                   wires all of it; cmd/ratchet is the command
//	ratchettest              a test kit for programs that use Ratchet
//
// docs/architecture.md shows how they work together.
package ratchet
