package keyspace

import (
	"encoding/binary"

	"ratchet/embedded/internal/store"
)

// The second byte of DynamoDB's store keys, with what follows it and the value.
const (
	KindTable  byte = 't' // table name -> the table's record
	KindCounts byte = 'c' // nothing -> highest table number; table number -> counts
	KindItem   byte = 'i' // table number, hash of the partition key, key -> size, item
	KindIndex  byte = 'x' // index number, hash of its partition key, its key, primary key -> size, projected item
	KindExpiry byte = 'e' // table number, expiry in seconds, the rest of the item's key -> nothing
	KindToken  byte = 'k' // span of time, client request token -> expiry, digest
	// table number -> the record of a table that is gone, and whose data is to be deleted
	KindDeleted byte = 'd'
)

// Hash is FNV-1a with the finalizer of MurmurHash3, which spreads short keys over all
// bits. The store holds hashes and stream shards own ranges of them, so the function must
// never change.
func Hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53

	return h ^ h>>33
}

// StoreKey returns a store key of that kind.
func StoreKey(kind byte, tail ...byte) []byte {
	return append([]byte{store.PrefixDynamoDB, kind}, tail...)
}

// TablePrefix returns the beginning of the store keys of that kind that belong to a table or an index.
func TablePrefix(kind byte, no uint64) []byte {
	return binary.BigEndian.AppendUint64(StoreKey(kind), no)
}
