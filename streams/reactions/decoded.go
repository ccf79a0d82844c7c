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

// decode decodes the record, once for all handlers. m says how orders stand in their table.
func decode(m transitions.Mapping, record streams.Record) *decoded {
	d, _ := record.Memo(decodedKey{}, func() any {
		d := &decoded{}
		d.change, d.grew, d.err = m.FromRecord(record.Old, record.New)

		return d
	}).(*decoded)

	return d
}
