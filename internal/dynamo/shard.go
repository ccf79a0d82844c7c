package dynamo

import "hash/fnv"

// Shard returns one of n shards, from 0, by the text. It spreads rows that would be too many for
// one partition key. The shard of a text never changes, and all shards are used about equally.
func Shard(text string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // a hash does not fail

	return int(h.Sum32() % uint32(n))
}
