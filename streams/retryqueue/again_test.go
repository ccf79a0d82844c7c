package retryqueue

import (
	"crypto/rand"
	"fmt"
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

	const small, onePart, twoParts = 10, 270 << 10, 500 << 10

	for name, add := range add {
		for _, size := range []struct{ before, after int }{
			{onePart, small}, {onePart, onePart}, {onePart, twoParts}, {twoParts, small}, {twoParts, onePart}, {small, twoParts},
		} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				virtually(t, func(t *testing.T) {
					e, bytes := newQueueEnv(t), size.after
					add(e, 0, again("1", 1, size.before), again("2", 2, size.before))
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

// TestAMarkNeverMovesBack: although older versions are queued again, and a Rebuild that has not read it adds nothing.
func TestAMarkNeverMovesBack(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)

		for _, c := range []struct {
			version, mark int64
			known         bool
			added         int
			want          int64
		}{
			{version: 5, added: 1, want: 5},
			{version: 3, mark: 5, known: true, added: 1, want: 5},
			{version: 6, added: 0, want: 5},
			{version: 6, mark: 4, known: true, added: 0, want: 5},
			{version: 6, mark: 5, known: true, added: 1, want: 6},
		} {
			added, err := e.AddMarked(t.Context(), "h", hash, []streams.Record{again("1", c.version, 1)}, c.mark, c.known)
			e.must(err)

			mark, _, err := e.Mark(t.Context(), "h", hash)
			if e.must(err); added != c.added || mark != c.want {
				t.Errorf("%+v: %d added, mark %d", c, added, mark)
			}
		}
	})
}
