package streams

import (
	"encoding/binary"

	"ratchet/embedded/internal/store"
)

// The second byte of every key. Numbers in keys are big-endian, so that keys sort by them.
const (
	kindStream byte = 'm' // stream number -> streamRecord
	kindShard  byte = 'h' // stream number, shard number -> shardRecord
	kindRecord byte = 'r' // stream number, shard number, sequence -> change
)

func key(kind byte, numbers ...uint64) []byte {
	k := append(make([]byte, 0, 2+8*len(numbers)), store.PrefixStreams, kind)
	for _, n := range numbers {
		k = binary.BigEndian.AppendUint64(k, n)
	}

	return k
}

func streamKey(stream uint64) []byte           { return key(kindStream, stream) }
func shardKey(stream, shard uint64) []byte     { return key(kindShard, stream, shard) }
func recordPrefix(stream, shard uint64) []byte { return key(kindRecord, stream, shard) }
