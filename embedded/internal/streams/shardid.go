package streams

import (
	"fmt"
	"time"
)

// shardID returns an id in the form of AWS's shard ids: the time of creation in milliseconds, then
// eight hex digits that distinguish shards of one millisecond. A child's id is above its parent's
// id.
func shardID(created time.Time, parent string, streamNo, no uint64) string {
	ms := created.UnixMilli()
	if parent != "" {
		var before int64
		if _, err := fmt.Sscanf(parent, "shardId-%020d-", &before); err == nil {
			// The clock may be behind the parent's time.
			ms = max(ms, before+1)
		}
	}

	return fmt.Sprintf("shardId-%020d-%08x", ms, uint32(mix(streamNo<<32|no)))
}

// mix spreads the bits of n. Different numbers have different results: it is the
// finalizer of MurmurHash3.
func mix(n uint64) uint64 {
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53

	return n ^ n>>33
}
