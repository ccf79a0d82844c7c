// Package linearizability checks recorded histories of transitions.Apply, Create
// and Get with Porcupine: whatever the clients, the wire and the callers' patience
// did, every answer must be one that a single order, asked one request after the
// other, would have given.
//
// # Model
//
// The checked system is all real: transitions on an SDK client on the embedded
// engine, the journal written by a streams.Poller or in the same transaction. Several clients work on one
// order at a time, with ids given (next ones, gaps, old ones, ids that others take
// too), ids allotted to request ids (new ones and used ones, by If-Match too), and
// earlier requests sent again, as they were or with other content. Histories are
// cut by order: what happens to one order says nothing about another.
//
// The model is the order as a person would keep it: the list of what was applied,
// without a ring and without a journal. It allows exactly one verdict for each
// request at each moment. Two answers leave it a choice: an unknown outcome may
// take effect at any later moment or never, and a call whose own write is older
// than the ring may hear Replayed instead of Applied.
//
// Faults strike between the SDK and the engine: a request that never arrives, one
// that is carried out and not answered, one carried out twice, throttling, a server
// fault before and after the work, and a caller that gives up before and after it.
// A request that arrives after its sender has stopped waiting is not among them:
// docs/internals/model checks that one.
//
// That the checker would notice is checked as well, with histories that were
// tampered with and with a wire that breaks the write's condition.
//
// # Commands
//
//	go test ./tests/linearizability                                      # 3 times 7,000 calls, 16 clients
//	go test ./tests/linearizability -run WithFaults/stream -timeout 1h -v -args -ops 1000000 -clients 64
//
// -seed repeats the clients' choices (not the scheduler's). A history that fails is
// kept as a picture under -pictures.
package linearizability
