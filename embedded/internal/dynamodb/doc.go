// Package dynamodb implements DynamoDB: tables and items in a store, behind the wire
// protocol of the service.
//
// # Model
//
// The store key of an item is its table's number, a hash of its partition key, and its
// whole key. A partition is therefore one range of the store, and a Scan goes through the
// partitions in the order of their hashes. A write locks the item's stripe (one of 8192),
// reads the item, evaluates the condition, and commits item, stream record and expiry as
// one batch. It answers and unlocks the stripe when the batch is on disk. A transaction
// locks the stripes of all its items, in one order for every caller, and is one batch, too.
//
// A secondary index has an entry for each item that it covers: a store key of its own, with
// the projected attributes as the value. A write changes the entries in the batch of the item,
// so that a read of an index after the write sees it; on AWS a global index follows a moment
// later.
// CreateTable and UpdateTable define indexes. UpdateTable enters the existing items before it
// answers, or, after a crash, when the engine runs again; writers do not wait for it.
//
// # Guarantees
//
//   - An acknowledged write is on disk. A batch is written in full or not at all.
//   - Writes of one item are serial: a conditional write succeeds exactly if its condition
//     holds when its turn comes.
//   - TransactWriteItems and TransactGetItems are serializable. They wait for
//     other writers instead of failing, so TransactionConflict never arises.
//   - No read, consistent or not, returns data that a crash could still undo: a read waits
//     until everything that it has seen is flushed.
//   - A ClientRequestToken protects for ten minutes, also across restarts.
//   - A write that changes nothing makes no stream record and needs no flush.
//
// # Not supported
//
// Vector indexes, backups, exports, imports, global tables, Kinesis destinations and
// resource policies. Such a parameter gets a ValidationException, such an operation an
// UnknownOperationException.
//
// # Caveats
//
// Tables become ACTIVE at once and are never throttled; capacity is counted by DynamoDB's
// rules but not enforced. ItemCount and TableSizeBytes are saved every 30 seconds, and a
// crash may lose the changes since then (DynamoDB updates them every six hours).
// TableSizeBytes counts items by DynamoDB's rule. BatchWriteItem is atomic and leaves
// nothing unprocessed. Enabling a time to live reads the whole table before it answers.
// Run removes expired items within 10 seconds. The estimate of ItemCollectionMetrics is
// always 0 to 1 GB, and the limit of 10 GB is not enforced.
// SSESpecification, OnDemandThroughput and WarmThroughput are accepted and ignored: the
// engine neither encrypts nor throttles.
package dynamodb
