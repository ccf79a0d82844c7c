package streams

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// shardRecord is what the store keeps of a shard, under its number.
type shardRecord struct {
	No     uint64   `json:"no"`
	ID     string   `json:"id"`
	Parent string   `json:"parent,omitempty"`
	Lo     uint64   `json:"lo"` // partition-key hashes lo..hi, both inclusive
	Hi     uint64   `json:"hi"`
	Start  sequence `json:"start"`
	// End is the last record's sequence of a closed shard, Start when it has
	// none; 0 while the shard is open. Closed is allotted at the closing: above
	// every record, below the children's Start.
	End    sequence `json:"end,omitempty"`
	Closed sequence `json:"closed,omitempty"`
	// Horizon: records below it were trimmed.
	Horizon sequence `json:"horizon,omitempty"`
}

// shard is one lane of a stream.
type shard struct {
	record shardRecord // No, ID, Parent, Lo, Hi, Start never change; the rest is under the stream's mu

	// mu makes allotting a sequence and applying its batch one step, so that
	// records become visible in their order.
	mu   sync.Mutex
	last sequence // of the last record, 0 without one; under mu
	shut bool     // takes no more records; under mu

	durable atomic.Uint64 // the last sequence known to be on disk
	prefix  []byte        // of its records' keys
}

func newShard(streamNo uint64, r shardRecord) *shard {
	return &shard{record: r, shut: r.End != 0, prefix: recordPrefix(streamNo, r.No)}
}

// shardID looks like AWS's: creation in milliseconds, then eight hex digits that
// tell shards of one millisecond apart. A child's ID is always above its parent's.
func shardID(created time.Time, parent string, streamNo, no uint64) string {
	ms := created.UnixMilli()
	if parent != "" {
		var before int64
		if _, err := fmt.Sscanf(parent, "shardId-%020d-", &before); err == nil {
			ms = max(ms, before+1)
		}
	}

	return fmt.Sprintf("shardId-%020d-%08x", ms, uint32(mix(streamNo<<32|no)))
}

// mix spreads the bits of n; it is one to one.
func mix(n uint64) uint64 {
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53

	return n ^ n>>33
}

// settled is settle, with word to those who watch the stream.
func (s *shard) settled(st *Stream, seq sequence) {
	s.settle(seq)
	st.wake()
}

// settle records that everything up to s is on disk. Batches reach the disk in
// the order they were applied, so s vouches for all before it.
func (s *shard) settle(seq sequence) {
	for {
		d := s.durable.Load()
		if d >= uint64(seq) || s.durable.CompareAndSwap(d, uint64(seq)) {
			return
		}
	}
}

func (s *shard) key(seq sequence) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(s.prefix)+8), s.prefix...), uint64(seq))
}
