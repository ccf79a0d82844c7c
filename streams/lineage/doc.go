// Package lineage knows the shards of a stream: which there are, which continue which, and which leases are
// missing or not needed any more. One worker at a time lists the shards for all ([Discovery]). An answer that
// says that something is gone is believed only after several of them ([Confirmation]), because acting on it
// cannot be undone.
//
// A shard begins when its parent was handled to its end. A parent that is neither listed nor known was
// trimmed long ago; the shard stops waiting for it after enough listings without it.
package lineage
