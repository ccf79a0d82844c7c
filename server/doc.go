// Package server wires Ratchet: it turns a [Config] into SDK clients, tables,
// activities, workers and pollers, and runs them. It is the only package that
// connects the others, so a test runs the same program as production.
//
// # Model
//
// [Connect] decides where the data is (the embedded engine, a compatible endpoint
// or AWS) and returns a [Backend]: four SDK clients (DynamoDB, DynamoDB Streams, Step
// Functions and SQS) and the parts that read and write through them. [Backend.Init]
// creates the resources that are missing. [Backend.Run] runs one worker until its
// context ends: the activities, the poller of the orders' stream, the deliveries of
// notifications, the consumer of the requests' queue and the sweeps. [Backend.ServeAPI] serves the HTTP API. Any number of
// workers and API servers may run on one backend, in one process or in many.
//
// [Parts] are what a program brings along: a bank, a carrier, kinds of destinations, reactions, and
// a workflow of its own. [Config.CheckWorkflow] holds definition, state machine and steps together.
//
// # Caveats
//
// Only one process at a time can open the data directory of the embedded engine; other
// processes reach it over HTTP. Unless [Parts] or the settings name others, the bank and the
// carrier are sandboxes that keep their data in tables of the same backend; on AWS they are used
// only if they are named.
package server
