package lanes

import (
	"strings"
	"testing"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

func TestARecordWithoutASizeCountsWhatItHas(t *testing.T) {
	big := dynamo.Item{"a": dynamo.S(strings.Repeat("x", 1000)), "l": dynamo.M(dynamo.Item{"b": dynamo.B(make([]byte, 500))})}

	for _, c := range []struct {
		record   streams.Record
		from, to int64
	}{
		{record: streams.Record{SizeBytes: 5000, New: big}, from: 5000, to: 5000},
		{record: streams.Record{SizeBytes: 1}, from: minRecordSize, to: minRecordSize},
		{record: streams.Record{New: big, Old: big}, from: 3000, to: 3100},
	} {
		if got := recordSize(&c.record); got < c.from || got > c.to {
			t.Errorf("size %d, want %d to %d", got, c.from, c.to)
		}
	}
}
