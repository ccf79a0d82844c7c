// Package poller reads a stream of DynamoDB and calls handlers for every change of its table: in order for
// each item, in parallel across items, with any number of worker processes.
//
// # Model
//
// A stream consists of shards; a shard that ends is continued by its children. A [Poller] holds a
// share of the shards, each by a lease in a DynamoDB table, and begins a shard only when its parent
// has been handled to the end. It pages through each shard and puts the records into lanes, one for
// each item and handler: a lane runs its records one after the other, and lanes run in parallel. A
// record is finished when, for every handler that accepts it, the handler has returned nil, or the
// record is stored in the retry queue or as a dead letter. The checkpoint of a shard is the last
// record of the unbroken run of finished records at its beginning.
//
// Workers show that they are alive by a heartbeat in a row of their own. They look at each other's
// rows about once a second, and at the leases only when a row says that some have changed. One
// worker at a time lists the shards, for all workers.
//
// # Outages
//
// A record that fails for longer than 5 s moves to the retry queue, which is part of the
// dead-letter table, and so do the later records of its item. In the queue the record keeps its
// attempts across restarts, does not hold the checkpoint back, and uses no memory of a worker. Each
// handler has a lease; the worker that holds it delivers the records of the handler's queue. When
// the last waiting record of an item has been handled, the item's next records come from the shard
// again.
//
// A handler that is slower than the others for longer than 30 s is left behind: its
// surplus waits in the retry queue. retryqueue.Queue.Pause lets all records of a handler wait there.
//
// A handler that fails for several items in a row, without a success in between, is probed with one
// call at a time until a call succeeds. Meanwhile its other records go to the retry queue without a
// call. They are tried when the handler has recovered.
//
// # Guarantees
//
//   - Every record is delivered to every handler whose filter accepts it, at least
//     once, if a worker reads it within the 24 hours that the service keeps it.
//     Records that were trimmed before they were read are reported as a [streams.Gap].
//   - The records of one item reach one handler one at a time and in order, across
//     pages, shards and workers. While a record is retried, the item's later records
//     wait and all other items continue. ([streams.Handler.Unordered] gives this up.)
//   - No checkpoint passes a record that is not finished, so every record before a
//     checkpoint has been handled, waits in the retry queue or is a dead letter.
//   - A worker that was paused writes nothing after another worker has taken its
//     lease: lease writes are conditional on owner, epoch and counter. The contexts of
//     its handlers end before the lease can be taken. A record that it puts into the
//     retry queue too late is not delivered, and a dead letter is not stored.
//   - A lease expires when its owner has sent no heartbeat for its LeaseDuration, which the row
//     states, measured by the monotonic clock of the worker that wants it. Wall clocks are not compared: times that
//     workers store for each other are times of the service, read from the answers to heartbeats.
//   - After a stop, leases are free at once. After a crash, other workers take them
//     over within LeaseDuration + 1 s. There is no leader.
//   - All workers of a group together make at most 9 calls of DescribeStream per second for a
//     stream, apart from short bursts. The service allows an account 10.
//   - A worker holds at most 64 MiB of unfinished records, and two more pages of each
//     shard: the page being delivered and the next page, which is fetched meanwhile.
//
// # Caveats
//
// Delivery is at least once. After a crash the records of about the last second are delivered
// again, and more if a record had been stuck for longer. Make effects idempotent, with a key
// derived from the item itself, such as its version. A store can also keep the highest
// [streams.Record.Epoch] and refuse writes with a lower one.
//
// A handler must honor its context. A handler that does not return blocks its item, one of
// the Concurrency places and, in the end, Run.
//
// A dead letter does not hold up the item's later records. So a redrive, like a [replay.Replay], is out of
// order: newer records of the item have been handled before.
//
// The service allows two readers per shard. A poller with many handlers is one
// reader, however many workers share the work.
package poller
