// Package streams is DynamoDB Streams: the ordered log of changes behind a
// table, and the service that serves it.
//
// A stream is a forest of shards. Every open shard owns a range of partition-key
// hashes; together the open shards cover all hashes exactly once. A shard is
// closed when it rolls over (one child, same range), splits (two children) or
// when its stream is disabled (no children). Records are trimmed after the
// retention time, closed shards with them.
//
// A record is written in the same batch as the item it tells about: one cannot
// exist without the other.
//
// # Guarantees
//
//   - Sequence numbers grow strictly over the whole stream, across restarts and
//     backward steps of the clock; a child's are above its parent's.
//   - The order of a shard is the order in which its records became visible: a
//     reader never sees a record whose predecessor is still to come.
//   - A reader sees only records that are on disk.
//   - A position is refused as trimmed only when a record behind it was really
//     removed; an idle shard's old position stays good.
//
// # Caveats
//
// Iterators are not secret and survive a restart. The number of readers per
// shard is not limited, and calls are not throttled.
package streams
