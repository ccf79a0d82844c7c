package streams

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/wire"
)

// shardRecord is a shard as the store keeps it, under its number.
type shardRecord struct {
	No     uint64   `json:"no"`
	ID     string   `json:"id"`
	Parent string   `json:"parent,omitempty"`
	Lo     uint64   `json:"lo"` // the partition-key hashes Lo to Hi, both included
	Hi     uint64   `json:"hi"`
	Start  sequence `json:"start"`
	// End is 0 while the shard is open. In a closed shard it is the sequence of the last
	// record, or Start when there is none.
	End sequence `json:"end,omitempty"`
	// Closed is assigned when the shard closes: above its records, below its children's
	// Start.
	Closed sequence `json:"closed,omitempty"`
	// Horizon is above all records that were trimmed.
	Horizon sequence `json:"horizon,omitempty"`
}

// shard is a part of a stream.
type shard struct {
	// In record, No, ID, Parent, Lo, Hi and Start never change. The stream's mu guards the
	// other fields.
	record shardRecord

	// mu makes assigning a sequence and applying its batch one step, so that records
	// become visible in their order.
	mu     sync.Mutex
	last   sequence // of the last record, 0 when there is none
	closed bool     // accepts no more records

	stalled atomic.Bool   // shows no records to readers; see Service.Stall
	durable atomic.Uint64 // the last sequence that is known to be on disk
	prefix  []byte        // of the keys of its records
}

func newShard(streamNo uint64, r shardRecord) *shard {
	return &shard{record: r, closed: r.End != 0, prefix: recordPrefix(streamNo, r.No)}
}

// acknowledge marks everything up to seq as durable and wakes the stream's watchers.
func (s *shard) acknowledge(st *Stream, seq sequence) {
	s.markDurable(seq)
	st.wake()
}

// markDurable records that everything up to seq is on disk. Batches reach the disk in the
// order in which they were applied, so all records before seq are there too.
func (s *shard) markDurable(seq sequence) {
	for {
		d := s.durable.Load()
		if d >= uint64(seq) || s.durable.CompareAndSwap(d, uint64(seq)) {
			return
		}
	}
}

// key returns the key of the record with that sequence.
func (s *shard) key(seq sequence) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(s.prefix)+8), s.prefix...), uint64(seq))
}

// shardByID returns the shard with an id, nil when there is none. The caller holds s.mu.
func (s *Stream) shardByID(id string) *shard {
	for _, sh := range s.all {
		if sh.record.ID == id {
			return sh
		}
	}

	return nil
}

func shardMissing(id string) *wire.Error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found: Shard: %s does not exist", id)
}
