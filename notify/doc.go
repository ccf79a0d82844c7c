// Package notify tells the outside that an order has entered a state. An [Endpoint] says who
// wants to know what, and where; [Endpoints] stores them. [Deliveries] brings each
// notification to every endpoint that wants it, and keeps a record of it: a [Delivery].
// Package notify/destination sends: to webhooks, queues, topics, mailboxes and files.
//
// # Model
//
// The reaction of the orders' stream calls [Deliveries.Accept] with a notification. Accept
// writes one delivery record for each endpoint, and only then is the stream's record
// finished. [Deliveries.Run] makes the attempts. A delivery is
//
//	PENDING    under way: due at a time, or taken by a worker until then
//	DELIVERED  the endpoint has it
//	MISSED     given up: the schedule is over, the endpoint is gone or disabled
//
// A record's key is the order and "endpoint#transition". While a delivery is PENDING its
// record also has the attributes queue ("<endpoint>#<0 to 3>", by order) and due, which are
// the key of the index queueIndex: each endpoint has a queue of its own, sorted by time, so
// that finding what is due reads neither finished deliveries nor those of other endpoints.
// MISSED records stand in a second queue of the endpoint, by the time of the transition. A
// DELIVERED record is in no queue and costs the index nothing.
//
// A worker takes a delivery by moving its due time behind the end of the attempt, under the
// condition that the record's version is the one that it read. A worker that dies leaves a
// delivery that becomes due again. Every later write has the version of the take as its
// condition, so a worker that was paused changes nothing that another one has taken over.
//
// # Cost
//
// While a worker runs, Accept makes the first attempt itself if the endpoint is idle and was
// quick the last time. If it ends within firstTry, the record is written once, with its
// outcome: one read, one write. Otherwise the record is written before the outcome is known,
// and again with it: two writes.
//
// # Guarantees
//
//   - Every notification that Accept took reaches each endpoint that wanted it at least once,
//     or stands as MISSED in the list, whatever crashes. Every attempt carries the same id and
//     the same key, so that a receiver that honors them acts once.
//   - An endpoint that fails or hangs delays no other: each has its own queue, one place that
//     no other endpoint can take, a limit of its own, and a circuit.
//   - With [Settings.Ordered], no notification of an order is sent to the endpoint while an
//     earlier one of the same order is PENDING there. Other orders are not held up.
//
// # Caveats
//
// The rate limit, the concurrency and the circuit of an endpoint hold for each worker process.
// A change of an endpoint reaches other processes within refreshEvery. Secrets are stored in
// the table as they are, because a symmetric signature needs them; no answer shows them after
// the creation. Encrypt the table with a key of your own, and limit who may read it.
//
// Records are kept for 30 days and then removed by the table's time to live.
package notify
