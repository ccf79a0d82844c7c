// Package notify notifies other systems and customers that an order has entered a state. An
// [Endpoint] says which notifications a receiver wants, and where to send them; [Endpoints] stores
// them. [Deliveries] brings each notification to every endpoint that wants it, and keeps a record
// of it: a [Delivery]. Package notify/destination sends to webhooks, queues, topics, mailboxes and
// files.
//
// # Model
//
// The reaction of the orders' stream calls [Deliveries.Accept] with a notification. Accept writes
// one delivery record for each endpoint, and only then is the stream's record finished.
// [Deliveries.Run] makes the attempts that Accept does not make. A delivery is
//
//	PENDING    under way: due at a time, or taken by a worker until then
//	DELIVERED  the endpoint has it
//	SKIPPED    the destination has nothing to send for this order, such as no e-mail address
//	MISSED     given up: the schedule is over, the endpoint is gone, disabled or removed
//
// A record's key is the order and "endpoint#incarnation#transition". While a delivery is PENDING its record
// also has the attributes queue ("<endpoint>#<0 to 3>", by order) and due, which are the key of the
// index "queue": each endpoint has a queue of its own, sorted by time. So a search for due
// deliveries reads neither finished deliveries nor those to other endpoints. MISSED records are in
// a second queue of the endpoint, sorted by the time of the transition. DELIVERED and SKIPPED
// records are in no queue and cost the index nothing.
//
// A worker takes a delivery by moving its due time to the end of the lease, on condition that the
// record still has the version that the worker has read. If the worker dies, the delivery becomes
// due again. The worker's next write is conditional on the version that the take has written. So a
// worker that was paused cannot change a delivery that another worker has taken over.
//
// An attempt goes to the endpoint as the table shows it then, or as it was at most ten seconds before.
// Each creation of an endpoint has a generation that never comes again, and each change a revision.
// Destinations are opened for both, and what an attempt says about an endpoint's health is stored for
// both. A delivery has the generation of its endpoint, so that an endpoint that is created under the id
// of a removed one does not get what was meant for that one.
//
// A removed endpoint leaves an item for a day, by which the workers find its PENDING deliveries and end
// them. Workers claim the endpoints of their configuration a few times a day: one that no worker has
// claimed for a day has ended, too.
//
// # Cost
//
// While a worker runs, Accept makes the first attempt itself if the endpoint is idle and was quick
// the last time. If the attempt ends within 250 ms, the record is written once, with the outcome:
// one read, one write. Otherwise the record is written twice: before the outcome is known, and with
// the outcome.
//
// # Guarantees
//
//   - After Accept has returned nil, each endpoint that wants the notification gets it at least
//     once, also after crashes. Otherwise the record says why not: it is SKIPPED or MISSED. It does
//     not expire before. Every attempt has the same id and the same key, so that a receiver that
//     compares them acts once.
//   - An endpoint that fails or hangs delays no other endpoint: each endpoint has its own queue, one
//     place that no other endpoint can take, a limit and a circuit.
//   - With [Settings.Ordered], no notification of an order is sent to the endpoint while an
//     earlier one of the same order is PENDING there. Other orders are not held up.
//   - An endpoint that fails is disabled after [Config.DisableAfter]. Only time with attempts counts: a
//     pause of more than a day between two of them does not.
//
// # Caveats
//
// The concurrency of an endpoint holds for each worker process. The running workers share the rate.
// Other processes learn of an open circuit, and of a change of an endpoint, from the table within
// 10 s. Secrets are stored in the table as they are, because a symmetric signature needs them; no
// answer shows them after the creation. Encrypt the table with a key of your own, and limit who may
// read it.
//
// Records are kept for 30 days after their deliveries have ended, and then removed by the table's time
// to live.
//
// A notification that a worker handles within ten seconds of an endpoint's creation may not be sent to
// it.
package notify
