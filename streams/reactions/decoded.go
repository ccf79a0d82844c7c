package reactions

import (
	"ratchet/streams"
	"ratchet/transitions"
)

// decoded has the results of transitions.Mapping.FromRecord for a record. All handlers of the record share
// it and must not modify it.
type decoded struct {
	change transitions.Change
	grew   bool
	err    error
}

// decodedKey is the key of the decoded change in a record's memo.
type decodedKey struct{}

// decode decodes the record, once for all handlers.
func (r *Reactions) decode(record streams.Record) *decoded {
	d, _ := record.Memo(decodedKey{}, func() any {
		m, d := r.cfg.Orders.Mapping(), &decoded{}
		d.change, d.grew, d.err = m.FromRecord(record.Old, record.New)

		if d.err == nil && !d.grew {
			if id, moved := m.MovedByOther(record.Old, record.New); moved {
				r.cfg.Events.MovedByOther(id)
			}
		}

		return d
	}).(*decoded)

	return d
}
