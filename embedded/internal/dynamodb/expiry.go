package dynamodb

import (
	"encoding/binary"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/store"
)

// expiry is when the item's time to live ends, in seconds since 1970; false when
// it has none. As on AWS an attribute that is not a number does not count.
func expiry(item attr.Item, attribute string) (int64, bool) {
	v := item[attribute]
	if v.Kind != attr.N {
		return 0, false
	}
	whole, _, _ := strings.Cut(v.Str, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)

	return seconds, err == nil && seconds > 0
}

// expiryKey is where the index of expiries holds the item of a store key.
func (t *table) expiryKey(seconds int64, item []byte) []byte {
	k := make([]byte, 0, 18+len(item)-len(t.items))
	k = append(k, store.PrefixDynamoDB, kindExpiry)
	k = binary.BigEndian.AppendUint64(k, t.no)
	k = binary.BigEndian.AppendUint64(k, uint64(seconds))

	return append(k, item[len(t.items):]...)
}

// stageExpiry keeps the index of expiries in step with the change.
func (c *change) stageExpiry(b *store.Batch) {
	attribute := c.state.record.TTL
	if attribute == "" {
		return
	}

	before, had := expiry(c.old, attribute)
	now, has := expiry(c.new, attribute)
	if had && (!has || before != now) {
		b.Delete(c.table.expiryKey(before, c.key.bytes))
	}

	if has {
		b.Set(c.table.expiryKey(now, c.key.bytes), nil)
	}
}
