package dynamodb

import (
	"encoding/binary"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/store"
)

// expiryOf returns when the item's time to live ends, in seconds since 1970. It returns false
// if the item has none: the attribute is missing, no number, or not positive.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
func expiryOf(item attr.Item, attribute string) (int64, bool) {
	v := item[attribute]
	if v.Kind != attr.N {
		return 0, false
	}

	// A canonical number has no exponent: its whole part ends at the point.
	whole, _, _ := strings.Cut(v.Str, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)

	return seconds, err == nil && seconds > 0
}

// expiryKey returns the key in the index of expiries of the item with that store key. The
// index is in the order of expiry, so a sweep reads only what is due.
func (t *table) expiryKey(seconds int64, item []byte) []byte {
	// The first 18 bytes are the prefix, the table and the expiry; newExpiryRemoval cuts them off.
	k := make([]byte, 0, 18+len(item)-len(t.Prefix))
	k = append(k, store.PrefixDynamoDB, keyspace.KindExpiry)
	k = binary.BigEndian.AppendUint64(k, t.no)
	k = binary.BigEndian.AppendUint64(k, uint64(seconds))

	return append(k, item[len(t.Prefix):]...)
}

// stageExpiry stages the change of the item's entry in the index of expiries.
func (c *change) stageExpiry(b *store.Batch) {
	attribute := c.state.record.TTL
	if attribute == "" {
		return
	}

	before, had := expiryOf(c.old, attribute)
	now, has := expiryOf(c.new, attribute)
	if had && (!has || before != now) {
		b.Delete(c.table.expiryKey(before, c.key.Bytes))
	}

	if has {
		b.Set(c.table.expiryKey(now, c.key.Bytes), nil)
	}
}
