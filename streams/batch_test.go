package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// inBatches makes the only handler of a configuration get batches.
func inBatches(handle BatchFunc, edit func(*Batch)) func(*Config) {
	return func(c *Config) {
		c.Handlers[0].Handle, c.Handlers[0].Batch = nil, &Batch{Handle: handle}
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

		handle := func(ctx context.Context, records []Record) []error {
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
		p := w.start(w.config(nil, inBatches(handle, func(b *Batch) { b.Size, b.Window = 8, 5*time.Millisecond })))
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

func TestABatchWaitsForItsWindowOrUntilItIsFull(t *testing.T) {
	virtually(t, func(t *testing.T) {
		var sizes []int
		b := newBatcher(Batch{Size: 3, Window: time.Second, Handle: func(_ context.Context, records []Record) []error {
			sizes = append(sizes, len(records))
			return nil
		}})
		began := time.Now()

		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				if err := b.handle(t.Context(), Record{}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()

		if fmt.Sprint(sizes) != "[3 1]" || time.Since(began) != time.Second {
			t.Errorf("batches of %v after %v", sizes, time.Since(began))
		}
	})
}

func TestRecordsGatherWhileABatchRuns(t *testing.T) {
	virtually(t, func(t *testing.T) {
		var sizes []int
		b := newBatcher(Batch{Handle: func(_ context.Context, records []Record) []error {
			sizes = append(sizes, len(records))
			time.Sleep(time.Second)

			return nil
		}})

		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() { _ = b.handle(t.Context(), Record{}) })
			synctest.Wait()
		}
		calls.Wait()

		if fmt.Sprint(sizes) != "[1 5]" {
			t.Errorf("batches of %v, want one record and then all others", sizes)
		}
	})
}

// TestALostRecordEndsItsBatch: another worker may act on the record whose lease is lost. The
// others are repeated and no attempt is counted.
func TestALostRecordEndsItsBatch(t *testing.T) {
	virtually(t, func(t *testing.T) {
		b := newBatcher(Batch{Size: 2, Window: time.Hour, Handle: func(ctx context.Context, records []Record) []error {
			<-ctx.Done()

			if !errors.Is(context.Cause(ctx), ErrLeaseLost) {
				t.Errorf("cause %v", context.Cause(ctx))
			}

			return []error{ctx.Err(), ctx.Err()}
		}})
		lost, lose := context.WithCancelCause(t.Context())

		var results [2]error
		var calls sync.WaitGroup
		for i, ctx := range []context.Context{lost, t.Context()} {
			calls.Go(func() { results[i] = b.handle(ctx, Record{}) })
			synctest.Wait()
		}
		lose(ErrLeaseLost)
		calls.Wait()

		if IsNotYet(results[0]) || !errors.Is(results[0], context.Canceled) || !IsNotYet(results[1]) {
			t.Errorf("results %v", results)
		}
	})
}

func TestABatchThatPanicsOrMiscountsFailsAllOfItsRecords(t *testing.T) {
	for name, handle := range map[string]BatchFunc{
		"panic":  func(context.Context, []Record) []error { panic("no") },
		"result": func(context.Context, []Record) []error { return make([]error, 3) },
	} {
		if err := newBatcher(Batch{Handle: handle}).handle(t.Context(), Record{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARecordThatIsTooOldBecomesADeadLetterWithoutACall(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var calls atomic.Int32
		w.write("o-0", 1)
		time.Sleep(time.Second)
		p := w.start(w.config(func(context.Context, Record) error { calls.Add(1); return nil }, short, func(c *Config) {
			c.Handlers[0].MaxAge = time.Nanosecond
		}))
		w.until("it is a dead letter", func() bool { return len(w.deadLetters("h")) == 1 })

		if l := w.deadLetters("h")[0]; calls.Load() != 0 || !strings.Contains(l.Error, ErrTooOld.Error()) || !l.Permanent {
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
	one := func(context.Context, Record) error { return nil }
	many := &Batch{Handle: func(context.Context, []Record) []error { return nil }}

	for name, h := range map[string]Handler{
		"both":     {Name: "h", Handle: one, Batch: many},
		"none":     {Name: "h"},
		"empty":    {Name: "h", Batch: &Batch{}},
		"negative": {Name: "h", Batch: &Batch{Handle: many.Handle, Window: -1}},
		"age":      {Name: "h", Handle: one, MaxAge: -1},
	} {
		if faults := checkHandlers("Config", []Handler{h}); len(faults) == 0 {
			t.Errorf("%s: no fault", name)
		}
	}

	if faults := checkHandlers("Config", []Handler{{Name: "a", Handle: one}, {Name: "b", Batch: many}}); len(faults) != 0 {
		t.Error(faults)
	}
}
