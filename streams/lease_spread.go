package streams

import (
	"strconv"

	"ratchet/internal/dynamo"
)

// leasesPerPartition is how many leases of a stream there may be for each partition key.
// DynamoDB serves 1,000 write units and 3,000 read units per second under one key.
//
// Where a lease is stored follows from its shard's parent, so that all who store the lease
// of a shard agree, and the second is refused:
//
//   - The lease of a child is under a key that the shard's id selects among as many as the
//     lease of the parent says (spread). A lease says the same all its life.
//   - The lease of a shard without a parent's lease is under one that the id selects among
//     as many as the stream's state says (roots), which never changes either.
//
// The stream's state says how many there are now (spread). That number grows with the
// shards; new leases take it over, so it has an effect for their children. A lease that says
// nothing means one key: the stream's.
const leasesPerPartition = 200

// spreadFor returns over how many partition keys the leases of so many shards are spread.
func spreadFor(shards int) int { return 1 + shards/leasesPerPartition }

// partitionKey returns the n-th partition key of the leases of a stream, counted from 0.
func partitionKey(stream string, n int) string {
	if n == 0 {
		return stream
	}

	return stream + "#" + strconv.Itoa(n)
}

// partitionOf returns the number of the key that the lease of the shard is under, of spread
// ones.
func partitionOf(shard string, spread int) int {
	if spread <= 1 {
		return 0
	}

	return dynamo.Shard(shard, spread)
}
