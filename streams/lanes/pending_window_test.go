package lanes

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"ratchet/streams"
)

// Whatever the order in which records are finished, the checkpoint is the last
// one before the oldest unfinished.
func TestTheCheckpointIsTheLastRecordBeforeTheOldestUnfinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := Memory{Limit: 1 << 30}
		n := rapid.IntRange(1, 300).Draw(t, "records")
		w := NewWindow(1<<20, 1<<20, &mem)
		var entries []*pendingRecord

		finished := make([]bool, n)
		left := make([]int, n)
		next := 0
		for next < n || len(entries) > 0 {
			if next < n && (len(entries) == 0 || rapid.Bool().Draw(t, "read")) {
				rec := streams.Record{SequenceNumber: strconv.Itoa(next + 1)}
				if left[next] = rapid.IntRange(0, 3).Draw(t, "handlers"); left[next] == 0 {
					w.Skip(&rec)
					finished[next] = true
				} else {
					e := &pendingRecord{Record: rec, unfinished: left[next]}
					w.add([]*pendingRecord{e})
					entries = append(entries, e)
				}
				next++
			} else {
				i := rapid.IntRange(0, len(entries)-1).Draw(t, "which")
				e := entries[i]
				w.finish(e)

				k, _ := strconv.Atoi(e.SequenceNumber)
				if left[k-1]--; left[k-1] == 0 {
					finished[k-1] = true
					entries = append(entries[:i], entries[i+1:]...)
				}
			}

			want := 0
			for want < next && finished[want] {
				want++
			}

			got, _ := w.Checkpoint()
			if n, _ := strconv.Atoi(got); n != want {
				t.Fatalf("checkpoint %q after %d contiguous records", got, want)
			}

			if _, pending := w.Oldest(); pending != len(entries) {
				t.Fatalf("%d pending, want %d", pending, len(entries))
			}
		}

		if mem.used != 0 {
			t.Fatalf("%d bytes held by no record", mem.used)
		}
	})
}
