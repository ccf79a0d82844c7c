package streams

import (
	"strconv"

	"ratchet/internal/dynamo"
)

// leasesPerPartition is how many leases of a stream there may be for each partition key. DynamoDB
// serves 1,000 write units and 3,000 read units per second under one key.
//
// The parent of a shard determines the key of the shard's lease. So all workers that store the
// lease use the same key, and only one of them succeeds:
//
//   - The lease of a child is under one of several keys, which the child's id selects. The lease of
//     the parent says how many there are (spread). The spread of a lease never changes.
//   - The lease of a shard whose parent has no lease is under one of several keys, too. The
//     stream's state says how many there are (roots). This number never changes either.
//
// The stream's state also says over how many keys leases are spread now (spread). This number grows
// with the shards. A new lease copies it as its own spread, and so passes it on to its children. A
// lease without the attribute means one key: the stream's.
const leasesPerPartition = 200

// spreadFor returns how many partition keys the leases of that many shards need.
func spreadFor(shards int) int { return 1 + shards/leasesPerPartition }

// partitionKey returns the n-th partition key of the leases of a stream, counted from 0.
func partitionKey(stream string, n int) string {
	if n == 0 {
		return stream
	}

	return stream + "#" + strconv.Itoa(n)
}

// partitionOf returns the number of the shard's partition key, counted from 0, if there are spread
// keys.
func partitionOf(shard string, spread int) int {
	if spread <= 1 {
		return 0
	}

	return dynamo.Shard(shard, spread)
}
