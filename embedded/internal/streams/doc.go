// Package streams is DynamoDB Streams: the ordered log of the changes of each table, and
// the operations that read it.
//
// A stream is a tree of shards. Each open shard owns a range of partition-key hashes;
// together the open shards cover all hashes exactly once. A shard closes when it rolls
// over (one child, same range), splits (two children), or when its stream is disabled (no
// children). Records are trimmed after the retention time, and closed shards with them.
//
// A writer commits an item and its record as one batch, so that neither exists without
// the other:
//
//	change := streams.Change{Stream: stream, Hash: hash, Event: streams.Insert, ...}
//	err := streams.Commit(batch, time.Now(), change)
//
// Readers use the operations of [Service.Wire]: ListStreams, DescribeStream,
// GetShardIterator, GetRecords. [Service.Roll], [Service.Split], [Service.Trim] and
// [Service.Stall] do on command what tests of consumers need. [Service.Watch] tells a consumer in
// the same process when to read.
//
// # Guarantees
//
//   - Sequence numbers grow strictly over the whole stream, across restarts and backward
//     steps of the clock; a child's numbers are above its parent's.
//   - The order of the records in a shard is the order in which they became visible: a
//     reader never sees a record before an earlier one.
//   - A reader sees only records that are on disk.
//   - A position is refused as trimmed only if a record after it was removed. An old
//     position in an idle shard stays valid.
//
// # Caveats
//
// Iterators are not secret and survive a restart. The number of readers per shard is not
// limited, and calls are not throttled.
package streams
