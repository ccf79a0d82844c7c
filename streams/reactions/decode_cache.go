package reactions

import (
	"hash/maphash"
	"sync/atomic"

	"ratchet/streams"
	"ratchet/transitions"
)

// cachedChanges is the size of the cache. It is small, because an order may have hundreds
// of kilobytes.
const cachedChanges = 16

// decodeCache keeps the changes of the last records. Each record goes to every handler,
// mostly at the same time, and is decoded once. Handlers share the Change, like the record
// itself, and must not modify it.
type decodeCache [cachedChanges]atomic.Pointer[decoded]

// decoded is the result of decoding one record.
type decoded struct {
	stream, shard, sequence string

	change transitions.Change
	grew   bool
	err    error
}

var seed = maphash.MakeSeed()

// decode returns what transitions.FromRecord returns for the record, from the cache if it
// is there. A record without a sequence number, which no stream has, is never cached.
func (c *decodeCache) decode(record streams.Record) (transitions.Change, bool, error) {
	slot := &c[maphash.String(seed, record.SequenceNumber)%cachedChanges]

	d := slot.Load()
	if d != nil && record.SequenceNumber != "" && d.sequence == record.SequenceNumber &&
		d.shard == record.ShardID && d.stream == record.StreamARN {
		return d.change, d.grew, d.err
	}

	d = &decoded{stream: record.StreamARN, shard: record.ShardID, sequence: record.SequenceNumber}
	d.change, d.grew, d.err = transitions.FromRecord(record.Old, record.New)
	slot.Store(d)

	return d.change, d.grew, d.err
}
