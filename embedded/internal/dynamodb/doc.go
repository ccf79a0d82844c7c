// Package dynamodb is DynamoDB: tables and items over the real wire protocol,
// kept in a store.
//
// # Model
//
// An item lies under its table's number, a hash of its partition key and its
// whole key, so that a partition is one range of the store and a Scan goes
// through the partitions in the order of their hashes. A write locks the item's
// stripe (one of 8192), reads the item, judges the condition, and commits item,
// stream record and expiry as one batch; it answers, and lets go of the stripe,
// when the batch is on disk. A transaction locks the stripes of all its items in
// one order and is one batch too.
//
// # Guarantees
//
//   - What was acknowledged is on disk. A batch is there in full or not at all.
//   - Writes of one item are serial: of concurrent conditional writes exactly
//     those succeed whose condition held at their turn.
//   - TransactWriteItems and TransactGetItems are serializable. They wait for
//     other writers instead of failing, so TransactionConflict never arises.
//   - No read, consistent or not, shows what a crash could still take back: a
//     read waits for the flush of what it has seen.
//   - A ClientRequestToken protects for ten minutes, restarts included.
//   - A write that changes nothing leaves no stream record and costs no flush.
//
// # Refused
//
// Secondary and vector indexes, legacy parameters (Expected, AttributeUpdates,
// KeyConditions, AttributesToGet, ...), PartiQL, backups, exports, imports, global
// tables, Kinesis destinations and resource policies. Parameters are answered
// with ValidationException, operations with UnknownOperationException.
//
// # Caveats
//
// Tables become ACTIVE at once and are never throttled; capacity is counted by
// DynamoDB's rules but not enforced. ItemCount and TableSizeBytes are saved every
// 30 seconds and may be off by a crash's last half minute (DynamoDB updates them
// every six hours). TableSizeBytes counts items as DynamoDB sizes them.
// BatchWriteItem is atomic and leaves nothing unprocessed. Enabling a time to live
// walks the whole table before it answers. Expired items are removed by Run,
// within Config.SweepEvery. ReturnItemCollectionMetrics is accepted and answered
// with nothing, as for every table without local indexes. SSESpecification,
// OnDemandThroughput and WarmThroughput are accepted and mean nothing here: nothing
// is encrypted, nothing is throttled.
package dynamodb
