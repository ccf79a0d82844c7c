// Package ratchet is the root of Ratchet, the order state machine that only moves
// forward. It holds the state machine that Step Functions runs, and imports nothing.
//
// The packages, in the direction in which data flows:
//
//	statemachine.asl.json    the states of an execution
//	activities/steps         the work of each of its tasks
//	queues/requests, api     transition requests from SQS and HTTP
//	transitions              one transition of one order: one conditional write
//	streams/reactions        reactions to it: journal, shipping, notifications, parked tasks
//	shipping, payments,      effects outside, once per key
//	notify, webhooks
//
// The packages below them:
//
//	workflow                 the definition of an order: states, events, guards
//	once, actions            claims and one-time actions
//	ledger, inventory        money and stock
//	tasktoken                task tokens of waiting executions
//	txn                      one transaction made of named parts
//	activities, streams,     the runtimes for Step Functions activities, DynamoDB
//	queues                   Streams and SQS; they know no orders
//	embedded                 DynamoDB, DynamoDB Streams, Step Functions and SQS in process,
//	                         on disk
//	inspect                  reads orders: explain, verify, list, count
//	api                      the HTTP API
//	server                   wires all packages; cli is the command line, cmd/ratchet the command
//	ratchettest              a test kit for programs that use Ratchet
//
// docs/architecture.md shows how they work together.
package ratchet
