// Package streams reads DynamoDB Streams and hands every record to handlers: in
// order for each item, in parallel across items, by any number of workers. It
// knows nothing of what the records are about.
//
// # Model
//
// A stream is a forest of shards; a shard is handled to its end before its
// children begin. A [Poller] holds a share of the shards, each by a lease in a
// DynamoDB table. It pages through each shard and puts the records into lanes,
// one per item and handler: a lane runs its records one after the other, lanes
// run side by side. The checkpoint of a shard is the last record up to which all
// are finished. A record is finished when every handler has taken it, or has
// given up on it after its attempts and it is stored as a dead letter.
//
//	p, err := streams.New(streams.Config{
//		Streams:         dynamodbstreams.NewFromConfig(cfg),
//		DynamoDB:        dynamodb.NewFromConfig(cfg),
//		TableName:       "orders",
//		LeaseTable:      "leases",       // made from LeaseTableInput
//		DeadLetterTable: "dead-letters", // made from DeadLetterTableInput
//		Handlers: []streams.Handler{{
//			Name:   "notify",
//			Filter: func(r streams.Record) bool { return r.EventName != streams.Remove },
//			Handle: func(ctx context.Context, r streams.Record) error { return nil },
//		}},
//	})
//	...
//	err = p.Run(ctx) // until ctx ends; then it drains and gives its leases back
//
// The same handlers run behind a Lambda event source mapping: see [Lambda].
//
// # Guarantees
//
//   - Every record is handed to every handler whose filter takes it, at least
//     once, as long as some worker reads it within the 24 h that the service keeps
//     it. Records that were trimmed unread are declared as a [Gap], never skipped
//     in silence.
//   - The records of one item reach one handler one at a time and in order, across
//     pages, shards and workers; while a record is being retried, its item's later
//     ones wait and all other items go on. ([Handler.Unordered] gives this up.)
//   - No checkpoint passes a record that is not finished, and no dead letter is
//     missing once a checkpoint has passed it.
//   - Lease writes are conditional on owner, epoch and counter. A worker that was
//     paused writes nothing after another has taken its lease; its handlers'
//     contexts end before the lease can be taken.
//   - Whether a lease has expired is judged by its counter standing still on the
//     judge's own monotonic clock. Wall clocks play no part.
//   - After a stop the leases are free at once; after a crash they are taken over
//     within LeaseDuration + 1 s. No leader is needed for that.
//
// # Caveats
//
// Delivery is at least once: a crash repeats up to CheckpointEvery of records,
// and more when a handler was stuck. Effects must be idempotent, keyed by what
// the item says about itself; [Record.Epoch] lets a store refuse a zombie.
//
// Handlers must honour their contexts. One that does not return keeps its item,
// a place of Config.Concurrency and, in the end, Run.
//
// A dead letter lets the item's later records pass. Redriving it (see
// [DeadLetters]) is therefore out of order by nature; the caller can refuse.
//
// The service allows two readers per shard. One poller with many handlers is one
// reader, however many workers share it.
//
// # The lease table
//
// The key is stream (the stream's ARN) and shardId. A lease has:
//
//	parent, parentDone      the shard continued; whether it needs no waiting for
//	owner                   the holder; absent when free
//	epoch                   grows by one with every holder; starts at a Unix time, so
//	                        that it grows even when somebody deletes the item
//	counter                 grows by one with every write of the holder
//	checkpoint, handledAt   last finished record, and when it was created (ms)
//	startAt                 where to begin when there is no checkpoint (ms); absent: oldest
//	wanted                  a worker with less work asks for the lease
//	finishedAt              handled to its end (ms); kept for 26 h as a tombstone
//	gaps, gapFrom, gapAt    trimmed records: how often; the last time: after what, when
//
// Under each stream the item "#stream" tells how it was begun and whose turn it
// is to list it; under "table/<name>" the item "#current" has the ARN of the
// stream that is being read, so that a stream that was disabled and enabled again
// is read to its end before its successor.
package streams
