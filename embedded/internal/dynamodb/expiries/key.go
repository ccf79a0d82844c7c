package expiries

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/store"
)

// maxAge is how long after its expiry an item is still removed. AWS keeps items whose
// expiry is more than five years ago.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
const maxAge = 5 * 365 * 24 * time.Hour

// Of returns when the item's time to live ends, in seconds since 1970. It returns false
// if the item has none: the attribute is missing, no number, or not positive.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
func Of(item attr.Item, attribute string) (int64, bool) {
	v := item[attribute]
	if v.Kind != attr.N {
		return 0, false
	}

	// A canonical number has no exponent: its whole part ends at the point.
	whole, _, _ := strings.Cut(v.Str, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)

	return seconds, err == nil && seconds > 0
}

// keyPrefix is the length of what stands before the rest of the item's key in an entry's key: the kind, the number of the
// table and the expiry.
const keyPrefix = 2 + 8 + 8

// Key returns the key of an item's entry. no is the number of the table, item the item's store key.
func Key(no uint64, table *keyspace.Space, seconds int64, item []byte) []byte {
	k := make([]byte, 0, keyPrefix+len(item)-len(table.Prefix))
	k = append(k, store.PrefixDynamoDB, keyspace.KindExpiry)
	k = binary.BigEndian.AppendUint64(k, no)
	k = binary.BigEndian.AppendUint64(k, uint64(seconds))

	return append(k, item[len(table.Prefix):]...)
}

// ItemKey returns the store key of the item of an entry.
func ItemKey(table *keyspace.Space, entry []byte) []byte {
	return append(bytes.Clone(table.Prefix), entry[keyPrefix:]...)
}

// Due returns the range of the entries of a table that are due at that time.
func Due(no uint64, now time.Time) (lo, hi []byte) {
	prefix := keyspace.TablePrefix(keyspace.KindExpiry, no)
	boundary := func(at time.Time) []byte {
		return binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(max(at.Unix(), 0)))
	}

	// The range ends before hi, so hi is the next second.
	return boundary(now.Add(-maxAge)), boundary(now.Add(time.Second))
}

// StageDeletion adds the deletion of all entries of a table to the batch.
func StageDeletion(b *store.Batch, no uint64) {
	prefix := keyspace.TablePrefix(keyspace.KindExpiry, no)
	b.DeleteRange(prefix, store.PrefixEnd(prefix))
}
