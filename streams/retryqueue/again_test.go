package retryqueue

import (
	"crypto/rand"
	"testing"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// again returns a version of the item that is delivered again, with an image that cannot be packed.
func again(sequence string, version int64, bytes int) streams.Record {
	r := record(sequence, 0)
	r.Replay = &streams.Replayed{Repaired: true, Version: version}

	noise := make([]byte, bytes)
	_, _ = rand.Read(noise)
	r.New = dynamo.Item{"noise": dynamo.B(noise)}

	return r
}

// TestARecordThatIsAddedAgainLeavesNothingOfTheFormerOne: its image may be smaller by now, because a person was
// erased from it.
func TestARecordThatIsAddedAgainLeavesNothingOfTheFormerOne(t *testing.T) {
	add := map[string]func(e *queueEnv, mark int64, records ...streams.Record){
		"added": func(e *queueEnv, _ int64, records ...streams.Record) {
			for _, r := range records {
				e.must(e.AddAgain(e.Context(), r))
			}
		},
		"with a mark": func(e *queueEnv, mark int64, records ...streams.Record) {
			added, err := e.AddMarked(e.Context(), "h", hash, records, mark, mark > 0)
			if e.must(err); added != len(records) {
				e.Fatalf("%d are added", added)
			}
		},
	}

	for name, add := range add {
		for size, bytes := range map[string]int{"in its row": 10, "in one part": 260 << 10, "in two parts": 300 << 10} {
			t.Run(name+" "+size, func(t *testing.T) {
				virtually(t, func(t *testing.T) {
					e := newQueueEnv(t)
					add(e, 0, again("1", 1, 500<<10), again("2", 2, 500<<10))
					add(e, 2, again("1", 1, bytes), again("2", 2, bytes))

					for range 2 {
						row := e.first()
						if r, err := e.Record(t.Context(), "h", row); err != nil || len(dynamo.Bytes(r.New, "noise")) != bytes {
							t.Errorf("the image has %d bytes, %v", len(dynamo.Bytes(r.New, "noise")), err)
						}
						e.remove(row)
					}

					for _, row := range e.rows() {
						if row[store.Part] != nil {
							t.Errorf("%s is left", dynamo.Text(row, store.ID))
						}
					}
				})
			})
		}
	}
}

// TestTheEndOfARowIsKeptWithoutItsParts: the delivery finds that they are gone, and declares the gap.
func TestTheEndOfARowIsKeptWithoutItsParts(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		e.must(e.AddAgain(t.Context(), again("1", 1, 500<<10)))

		row := e.first()
		if _, _, err := store.Write(t.Context(), e.API, nil, e.parts(row).Deletes(1)); err != nil {
			t.Fatal(err)
		}
		rows := len(e.rows())

		soon := e.Clock.Now()
		row.Ends = soon
		e.must(e.KeepEnd(t.Context(), "h", row))

		if kept := e.first(); !kept.Ends.After(soon.Add(life-2*doneLife)) || len(e.rows()) != rows {
			t.Errorf("it ends at %v; %d rows, want %d", kept.Ends, len(e.rows()), rows)
		}
	})
}
