// Package server wires Ratchet: it turns a [Config] into SDK clients, tables,
// activities, workers and pollers, and runs them. It is the only place where the
// parts meet, and a test starts what production starts.
//
// # Model
//
// [Connect] decides where the data is (the embedded engine, a compatible endpoint,
// or AWS) and returns a [Backend]: three SDK clients and the parts that read and
// write through them. [Backend.Init] creates what is missing. [Backend.Run] is one
// worker: activities, the stream's poller and the sandbox carrier, until its context
// ends. Any number of workers may run on one backend, in one process or many.
package server
