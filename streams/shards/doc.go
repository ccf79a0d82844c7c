// Package shards is the work on one shard under its lease. A [Worker] reads the shard page by page, hands the
// records to the lanes, stores checkpoints in the lease and, at the end, the leases of the shard's children.
// Records that were trimmed before they were read are declared as a gap.
//
// The position of a [Reader] is the sequence number of the last record delivered. Iterators only continue
// from there: one that has expired is replaced, and records that come twice are dropped.
package shards
