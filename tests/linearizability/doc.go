// Package linearizability checks recorded histories of transitions.Apply, Create and Get
// with Porcupine: every answer must be as a single order would have answered if the
// requests had come one after the other, in spite of concurrent clients, failing
// connections and canceled calls.
//
// # Model
//
// The checked system is transitions with an SDK client of the embedded engine. The journal
// is written by a streams.Poller or in the same transaction. Several clients work on one
// order at a time. They give ids (next ones, gaps, old ones, ids that others use too), let
// ids be assigned to request ids (new and used ones, also with IfMatch), and send earlier
// requests again, unchanged or with other content. Each order has a history of its own,
// because orders do not influence each other.
//
// The model is an order without ring and journal: the list of its applied transitions. It
// allows exactly one verdict for each request at each moment, with two exceptions. A
// request with an unknown outcome may take effect at any later moment or never. A call
// whose own write is older than the ring may get Replayed instead of Applied.
//
// The faults happen between the SDK and the engine: a request never arrives,
// is carried out and not answered, or is carried out twice; throttling, a server
// error before and after the work, and a call that is canceled before and after it. A
// request that arrives after its sender has stopped waiting is not among them; it is
// checked in docs/internals/model.
//
// Other tests make sure that the checker finds errors: with histories that were changed,
// and with a connection that breaks the condition of the write.
//
// # Commands
//
//	go test ./tests/linearizability                                      # 3 times 7,000 calls, 16 clients
//	go test ./tests/linearizability -run WithFaults/stream -timeout 1h -v -args -ops 1000000 -clients 64
//
// -seed repeats the clients' choices (not the scheduler's). A history that fails is
// stored as a picture under -pictures.
package linearizability
