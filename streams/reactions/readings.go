package reactions

import (
	"hash/maphash"
	"sync/atomic"

	"ratchet/streams"
	"ratchet/transitions"
)

// readings keeps what the last records were read as: each record goes to every handler,
// mostly at the same time, and its images need be read only once. A Change is shared by
// the handlers, like the record itself, and not written to. The number is small, since an
// order may have hundreds of kilobytes.
type readings [16]atomic.Pointer[reading]

type reading struct {
	stream, shard, sequence string

	change transitions.Change
	grew   bool
	err    error
}

var seed = maphash.MakeSeed()

// of reads the record, or finds it read. A record without a sequence number, which no
// stream has, is always read.
func (r *readings) of(record streams.Record) (transitions.Change, bool, error) {
	slot := &r[maphash.String(seed, record.SequenceNumber)%uint64(len(r))]
	known := slot.Load()
	if known != nil && record.SequenceNumber != "" && known.sequence == record.SequenceNumber &&
		known.shard == record.ShardID && known.stream == record.StreamARN {
		return known.change, known.grew, known.err
	}
	read := &reading{stream: record.StreamARN, shard: record.ShardID, sequence: record.SequenceNumber}
	read.change, read.grew, read.err = transitions.FromRecord(record.Old, record.New)
	slot.Store(read)

	return read.change, read.grew, read.err
}
