package poller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/streams/calls"
)

// inBatches makes the only handler of a configuration get batches.
func inBatches(handle streams.BatchFunc, edit func(*streams.Batch)) func(*Config) {
	return func(c *Config) {
		c.Handlers[0].Handle, c.Handlers[0].Batch = nil, &streams.Batch{Handle: handle}
		if edit != nil {
			edit(c.Handlers[0].Batch)
		}
	}
}

// TestABatchHandlerKeepsOrderAndRetriesOfEachItem: some records of batches fail. Each is
// repeated alone, before the next one of its item.
func TestABatchHandlerKeepsOrderAndRetriesOfEachItem(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		const items, versions = 20, 10
		l := newRecorder()
		var largest, batches atomic.Int32

		handle := func(ctx context.Context, records []streams.Record) []error {
			batches.Add(1)
			largest.Store(max(largest.Load(), int32(len(records))))
			seen := map[string]bool{}
			results := make([]error, len(records))

			for i, r := range records {
				id, version := keyAndVersion(r)
				if seen[id] {
					t.Errorf("two records of %s in a batch", id)
				}
				seen[id] = true

				if (len(id)+version)%3 == 0 && r.Attempt == 1 {
					results[i] = errOutage
					continue
				}
				results[i] = l.handle(ctx, r)
			}

			return results
		}

		w.writeVersions(items, versions)
		p := w.start(w.config(nil, inBatches(handle, func(b *streams.Batch) { b.Size, b.Window = 8, 5*time.Millisecond })))
		w.until("all are handled", func() bool { return l.distinct() == items*versions })
		w.stopped(p)
		l.ordered(t, items, versions)

		if n := l.count(); n != items*versions || largest.Load() > 8 || largest.Load() < 2 || int(batches.Load()) >= n {
			t.Errorf("%d handled in %d batches of up to %d", n, batches.Load(), largest.Load())
		}

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}

func TestARecordThatIsTooOldBecomesADeadLetterWithoutACall(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var calls atomic.Int32
		w.write("o-0", 1)
		time.Sleep(time.Second)
		p := w.start(w.config(func(context.Context, streams.Record) error { calls.Add(1); return nil }, short, func(c *Config) {
			c.Handlers[0].MaxAge = time.Nanosecond
		}))
		w.until("it is a dead letter", func() bool { return len(w.deadLetters("h")) == 1 })

		if l := w.deadLetters("h")[0]; calls.Load() != 0 || !strings.Contains(l.Error, streams.ErrTooOld.Error()) || !l.Permanent {
			t.Errorf("%d calls, letter %+v", calls.Load(), l)
		}

		// It may be redriven all the same.
		if err := w.queue().Redrive(t.Context(), "h", w.deadLetters("h")[0].ID); err != nil {
			t.Fatal(err)
		}
		w.until("it is handled", func() bool { return calls.Load() == 1 && len(w.deadLetters("h")) == 0 })
		w.stopped(p)
	})
}

func TestAHandlerHasEitherAFunctionOrABatch(t *testing.T) {
	one := func(context.Context, streams.Record) error { return nil }
	many := &streams.Batch{Handle: func(context.Context, []streams.Record) []error { return nil }}

	for name, h := range map[string]streams.Handler{
		"both":     {Name: "h", Handle: one, Batch: many},
		"none":     {Name: "h"},
		"empty":    {Name: "h", Batch: &streams.Batch{}},
		"negative": {Name: "h", Batch: &streams.Batch{Handle: many.Handle, Window: -1}},
		"age":      {Name: "h", Handle: one, MaxAge: -1},
	} {
		if faults := calls.Check("Config", []streams.Handler{h}); len(faults) == 0 {
			t.Errorf("%s: no fault", name)
		}
	}

	if faults := calls.Check("Config", []streams.Handler{{Name: "a", Handle: one}, {Name: "b", Batch: many}}); len(faults) != 0 {
		t.Error(faults)
	}
}
