// Package server connects the packages of Ratchet: it turns a [Config] into SDK clients, tables,
// activities, workers and pollers, and runs them. No other package does that, so a test runs the same
// program as production.
//
// # Model
//
// [Connect] decides where the data is (the embedded engine, a compatible endpoint or AWS) and returns a
// [Backend]: four SDK clients (DynamoDB, DynamoDB Streams, Step Functions and SQS) and the parts that
// read and write through them. [Backend.Init] creates the resources that are missing. [Backend.Run] runs
// one worker until its context ends: the activities, the poller of the orders' stream, the deliveries of
// notifications, the consumer of the requests' queue and the sweeps. [Backend.ServeAPI] serves the HTTP
// API. Any number of workers and API servers may run on one backend, in one process or in many.
//
// [Parts] are a program's own implementations: a bank, a carrier, kinds of destinations, handlers of the
// stream, and a workflow. [Config.CheckWorkflow] checks that the definition, the state machine and the
// steps fit each other.
//
// # Caveats
//
// Only one process at a time can open the data directory of the embedded engine; other
// processes reach the engine over HTTP. Unless [Parts] or the settings name others, the bank and the
// carrier are sandboxes that keep their data in tables of the same backend. On AWS a sandbox is used
// only if the settings name it.
package server
