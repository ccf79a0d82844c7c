// Package streams is a consumer of DynamoDB Streams. It calls your handlers for every change of a
// table: in order for each item, in parallel across items, with any number of worker processes that
// share the work through a lease table. It is for Go what the Kinesis Client Library with its
// DynamoDB Streams adapter is for Java.
//
// The package does not interpret the items.
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
// # Use
//
// Create the two tables once, then run a poller in each worker:
//
//	p, err := streams.New(streams.Config{
//		Streams:         dynamodbstreams.NewFromConfig(cfg),
//		DynamoDB:        dynamodb.NewFromConfig(cfg),
//		TableName:       "orders",       // its stream must be enabled
//		LeaseTable:      "leases",       // created from LeaseTableInput
//		DeadLetterTable: "dead-letters", // created from DeadLetterTableInput
//		Handlers: []streams.Handler{{
//			Name:   "notify",
//			Filter: func(r streams.Record) bool { return r.EventName != streams.Remove },
//			Handle: func(ctx context.Context, r streams.Record) error { return send(ctx, r.New) },
//		}},
//	})
//	if err != nil {
//		return err
//	}
//
//	return p.Run(ctx) // until ctx ends; then it drains and releases its leases
//
// A handler that fails is called again with backoff, for three days unless [Retry] says
// otherwise. [Permanent] skips the retries; [NotYet] repeats the call without counting
// it; [RetryAfter] asks for a pause. [DeadLetters] lists the records that a handler gave
// up on and redrives them. [Lambda] runs the same handlers behind a Lambda event source
// mapping.
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
// surplus waits in the retry queue. RetryQueue.Pause lets all records of a handler wait there.
//
// A handler that fails for several items in a row, without a success in between, is probed with one
// call at a time until a call succeeds. Meanwhile its other records go to the retry queue without a
// call. They are tried when the handler has recovered.
//
// # Guarantees
//
//   - Every record is delivered to every handler whose filter accepts it, at least
//     once, if a worker reads it within the 24 hours that the service keeps it.
//     Records that were trimmed before they were read are reported as a [Gap].
//   - The records of one item reach one handler one at a time and in order, across
//     pages, shards and workers. While a record is retried, the item's later records
//     wait and all other items continue. ([Handler.Unordered] gives this up.)
//   - No checkpoint passes a record that is not finished, so every record before a
//     checkpoint has been handled, waits in the retry queue or is a dead letter.
//   - A worker that was paused writes nothing after another worker has taken its
//     lease: lease writes are conditional on owner, epoch and counter. The contexts of
//     its handlers end before the lease can be taken. A record that it puts into the
//     retry queue too late is not delivered, and a dead letter is not stored.
//   - A lease expires when its owner has sent no heartbeat for LeaseDuration, measured by
//     the monotonic clock of the worker that wants it. Wall clocks are not compared: times that
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
// [Record.Epoch] and refuse writes with a lower one.
//
// A handler must honor its context. A handler that does not return blocks its item, one of
// the Concurrency places and, in the end, Run.
//
// A dead letter does not hold up the item's later records. So a redrive, like a [Replay], is out of
// order: newer records of the item have been handled before.
//
// The service allows two readers per shard. A poller with many handlers is one
// reader, however many workers share the work.
//
// # The lease table
//
// The key is stream and shardId. The leases of a stream are under its ARN. The other
// attributes of a lease are:
//
//	parent                  the parent shard
//	parentDone              this shard does not have to wait for its parent
//	parentLost              the parent was trimmed before it was read
//	owner                   the worker that holds the lease; absent if it is free
//	epoch                   incremented by every new owner, above the parent's epoch; starts
//	                        at the Unix time, so that it grows even if the row is deleted
//	                        and created again
//	counter                 incremented by every write of the owner
//	checkpoint, handledAt   the last finished record, and when it was created (ms)
//	startAt                 where to begin without a checkpoint (ms); absent: oldest record
//	atHorizon               if set, records that were trimmed before listedAt are no gap
//	listedAt                when reading the stream began, or when the shard was created if
//	                        that was later (ms)
//	wanted                  the worker that has asked the owner to hand over the lease
//	finishedAt              when the shard was handled to its end (ms); the lease is then
//	                        kept for 26 hours as a tombstone
//	gaps                    how often records were trimmed unread
//	gapFrom, gapAt          of the newest gap: the last record before it, and when it was
//	                        noticed (ms)
//	deaths, deathsAt        how many owners in a row have ended without giving the lease
//	                        back, and the checkpoint at which this was
//	tryingTo                after such deaths: the last record of the batch that is tried
//	trying                  the record of the batch that is tried alone
//	tries                   how many calls for trying did not return, by handler
//	takes                   the newest ten owners: epoch, and the checkpoint at which each began
//
// A tombstone moves to the key "<ARN>#finished" when no child waits for it, so that
// finished shards cost nothing to watch. A lease is stored in a transaction which checks
// that its shard has no tombstone.
//
// Under "workers/<ARN>" each worker has a row, with its name as the sort key:
//
//	counter                 incremented by every heartbeat, three times per LeaseDuration
//	changes                 incremented after a change of leases that other workers must see
//	state                   "stopping", or "left" when the worker holds no lease any more
//
// Heartbeats of this row keep a worker's leases: an idle lease is not written. The alternatives
// cost more. To renew each lease takes a write for each shard; BatchWriteItem has no
// conditions, so a worker that was paused would renew leases that it has lost; a transaction
// has them and costs double. A heartbeat needs no condition, because it does not fence
// anything: every write of a lease is still conditional on owner, epoch and counter. The
// comment of type liveness has the proof that a worker has stopped when others take its
// leases.
//
// Under "retries/<table>" there is a lease for each handler, whose holder delivers the records of
// the handler's retry queue. These leases are renewed one by one. Attribute pausedAt says since
// when the handler is paused (ms). The row "#additions" under the same key has a counter and
// markedAt. The counter grows when records were put into a queue by a process that is not the
// worker of their shard. markedAt says when a Rebuild last moved marks (ms).
//
// The row "#stream" of each stream says how and when reading it began, and has the number of
// listings (listings). The row "#current" under "table/<name>"
// holds the ARN of the stream that is being read, so that a stream that was disabled and enabled
// again is read to its end before the stream that replaced it.
//
// All names under which rows are stored have the prefix "group/<group>/" if the poller
// has a group; the group "" has none. The rows under "groups/<ARN>" say when each group
// was last seen.
//
// # The retry queue
//
// It consists of rows of the dead-letter table under source "retries/<table>/<handler>".
// An item that waits has one row, whose id is "item/" and a hash of its key:
//
//	format                  of the row: 1. A row with a higher number is refused by name
//	keys                    the item's key
//	records                 its records, oldest first: sequence number, parts, and the epoch of
//	                        the shard's lease under which the record was put here
//	partsEnd                the earliest end of the records' parts (ms)
//	holder                  epoch of the queue's lease whose owner has begun with the row
//	last                    sequence number of the newest one, with leading zeros
//	attempts                number of failed calls for the oldest record
//	since, error            the time of the first of these calls (ms), the error of the last
//	nextTry                 when the oldest record is due (ms)
//	tries, triedBy          after deaths of the queue's workers: number of calls for the
//	                        oldest record that did not return, and the worker that has
//	                        begun the last of them
//	replays                 records to deliver again, before records; an element may have
//	                        the id of a dead letter to redrive
//	replayAttempts,         as attempts, since, tries and triedBy, for the first of replays
//	replaySince,
//	replayTries,
//	replayTriedBy
//	addition                token of the newest addition to replays
//	more                    how many newer records have rows of their own
//
// The records themselves are in rows "record/<hash>/<sequence>#<token>-<n>", each with the item's key
// (keys) and an end (expireAt) from its first write on: 14 days, which the queue's worker moves in time
// while the record waits. A crash may leave such rows without an item's row. An item's row refers to
// up to 100 records. Each further one has a row "more/<hash>/<sequence>", whose attribute records is
// the reference, until it moves into the item's row.
package streams
