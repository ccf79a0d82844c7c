package dynamodb

import (
	"ratchet/embedded/internal/dynamodb/expiries"
	"ratchet/embedded/internal/store"
)

// stageExpiry stages the change of the item's entry in the index of expiries.
func (c *change) stageExpiry(b *store.Batch) {
	attribute := c.state.Record.TTL
	if attribute == "" {
		return
	}

	before, had := expiries.Of(c.old, attribute)
	now, has := expiries.Of(c.new, attribute)
	if had && (!has || before != now) {
		b.Delete(expiries.Key(c.table.No, &c.table.Space, before, c.key.Bytes))
	}

	if has {
		b.Set(expiries.Key(c.table.No, &c.table.Space, now, c.key.Bytes), nil)
	}
}
