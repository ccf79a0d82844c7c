package reactions

import (
	"ratchet/streams"
	"ratchet/transitions"
)

// decoded has the results of transitions.FromRecord for a record. All handlers of the record share
// it and must not modify it.
type decoded struct {
	change transitions.Change
	grew   bool
	err    error
}

// decodedKey is the key of the decoded change in a record's memo.
type decodedKey struct{}

// decode decodes the record, once for all handlers.
func decode(record streams.Record) *decoded {
	d, _ := record.Memo(decodedKey{}, func() any {
		d := &decoded{}
		d.change, d.grew, d.err = transitions.Mapping{}.FromRecord(record.Old, record.New)

		return d
	}).(*decoded)

	return d
}
