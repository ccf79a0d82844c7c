package poller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

var errItem = errors.New("cannot be read")

// expand returns the newest three versions of an item of these tests.
func expand(_ context.Context, item map[string]ddbtypes.AttributeValue) (versions []replay.Version, lost bool, err error) {
	newest := dynamo.Number(item, "version")
	if newest == 0 {
		return nil, false, errItem
	}

	at := func(version int64) dynamo.Item {
		if version == 0 {
			return nil
		}

		return dynamo.Item{"id": item["id"], "part": item["part"], "version": dynamo.N(version)}
	}

	first := max(newest-2, 1)
	for v := first; v <= newest; v++ {
		versions = append(versions, replay.Version{Number: v, Old: at(v - 1), New: at(v), CreatedAt: time.Now()})
	}

	return versions, first > 1, nil
}

// rebuild returns a Rebuild for handler h.
func (w *testEnv) rebuild(edit ...func(*replay.Rebuild)) replay.Rebuild {
	r := replay.Rebuild{
		Queue:    w.queue(),
		DynamoDB: w.db,
		Name:     "test",
		Handlers: []streams.Handler{{Name: "h"}},
		Expand:   expand,
		PageSize: 1,
	}
	for _, e := range edit {
		e(&r)
	}

	return r
}

func (w *testEnv) runRebuild(r replay.Rebuild) replay.RebuildCount {
	w.Helper()

	count, err := r.Run(w.Context())
	if err != nil {
		w.Fatal(err)
	}

	return count
}

// TestARebuildDeliversWhatTheItemsProve repairs a handler after all records were trimmed.
func TestARebuildDeliversWhatTheItemsProve(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.write("o-0", 0) // cannot be expanded

		for v := 1; v <= 5; v++ {
			w.write("o-1", v)
		}
		w.write("o-2", 1)
		failed := 0

		dry := w.runRebuild(w.rebuild(func(r *replay.Rebuild) { r.DryRun = true }))

		// It tells the workers of no marks: they would read one for each record of the last minutes.
		if rows, _, err := w.queue().Leases().Read(t.Context()); err != nil || len(rows) > 0 || w.scanDeadLetters() > 0 {
			t.Errorf("the dry run has stored %+v and %d rows of the queue, %v", rows, w.scanDeadLetters(), err)
		}

		count := w.runRebuild(w.rebuild(func(r *replay.Rebuild) {
			r.Failed = func(keys map[string]ddbtypes.AttributeValue, err error) {
				if dynamo.Text(keys, "id") == "o-0" && errors.Is(err, errItem) {
					failed++
				}
			}
		}))

		if want := (replay.RebuildCount{Items: 3, Failed: 1, Lost: 1, Versions: 4, Queued: 4}); dry != want || count != want || failed != 1 {
			t.Errorf("dry run %+v, run %+v, want %+v", dry, count, want)
		}

		l := &replayLog{}
		p := w.start(w.config(l.handle, short, func(c *Config) { c.Start = streams.Latest }))
		w.until("all are delivered", func() bool { return len(l.all()) == 4 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-1")); got != "[3r 4r 5r]" {
			t.Errorf("delivered %s", got)
		}

		for _, g := range l.all() {
			if !g.replay.Repaired || g.replay.Version != int64(g.version) || !g.late {
				t.Errorf("delivered %+v", g)
			}
		}

		// A second rebuild finds nothing to do; with Repeat it repeats all.
		if again := w.runRebuild(w.rebuild()); again.Queued != 0 || again.Refused != 4 {
			t.Errorf("again: %+v", again)
		}
		w.write("o-1", 6)

		if newer := w.runRebuild(w.rebuild()); newer.Queued != 1 || newer.Refused != 3 {
			t.Errorf("after a newer version: %+v", newer)
		}

		if all := w.runRebuild(w.rebuild(func(r *replay.Rebuild) { r.Again, r.Repeat = "a1", true })); all.Queued != 4 {
			t.Errorf("on request: %+v", all)
		}
	})
}

func TestARebuildOfOneItem(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.write("o-0", 1)
		w.write("o-1", 2)
		one := func(r *replay.Rebuild) { r.Keys = dynamo.Item{"id": dynamo.S("o-1"), "part": dynamo.S("-")} }

		if count := w.runRebuild(w.rebuild(one)); count.Items != 1 || count.Queued != 2 {
			t.Errorf("%+v", count)
		}

		none := func(r *replay.Rebuild) { r.Keys = dynamo.Item{"id": dynamo.S("o-9"), "part": dynamo.S("-")} }
		if count := w.runRebuild(w.rebuild(none)); count.Items != 0 {
			t.Errorf("%+v", count)
		}
	})
}

func TestARebuildGoesOnWhereItEnded(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.writeVersion(6, 1)

		ctx, cancel := context.WithCancel(t.Context())
		first := w.rebuild(func(r *replay.Rebuild) {
			r.Progress = func(c replay.RebuildCount) {
				if c.Items == 3 {
					cancel()
				}
			}
		})

		if count, err := first.Run(ctx); !errors.Is(err, context.Canceled) || count.Items != 3 {
			t.Fatalf("%+v, %v", count, err)
		}

		read := 0
		second := w.rebuild(func(r *replay.Rebuild) {
			r.Expand = func(ctx context.Context, item map[string]ddbtypes.AttributeValue) ([]replay.Version, bool, error) {
				read++
				return expand(ctx, item)
			}
		})
		if count := w.runRebuild(second); !count.Resumed || count.Items != 6 || count.Queued != 6 || read != 3 {
			t.Errorf("%+v after %d items", count, read)
		}

		if rows := w.waitingRows(); len(rows) != 6 {
			t.Errorf("%d rows", len(rows))
		}

		// After its end it begins with the first item.
		if count := w.runRebuild(w.rebuild()); count.Resumed || count.Items != 6 {
			t.Errorf("%+v", count)
		}
	})
}

func TestASecondRebuildOfTheSameNameTakesOver(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.write("o-0", 1)
		w.write("o-1", 1)

		took := false

		first := w.rebuild(func(r *replay.Rebuild) {
			r.Progress = func(replay.RebuildCount) {
				if !took {
					took = true
					w.runRebuild(w.rebuild())
				}
			}
		})
		if _, err := first.Run(t.Context()); !errors.Is(err, replay.ErrTakenOver) {
			t.Errorf("%v, want ErrTakenOver", err)
		}
	})
}

// TestRecordsBehindRepairedOnesAreNotOlder: the stream's records of an item wait behind the
// repaired versions. Records that a repair has delivered are refused.
func TestRecordsBehindRepairedOnesAreNotOlder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}
		var down atomic.Bool
		down.Store(true)
		handle := func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}
		version := func(r streams.Record) int64 { _, v := keyAndVersion(r); return int64(v) }

		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
		}
		w.runRebuild(w.rebuild())
		p := w.start(w.config(handle, patient, short, func(c *Config) { c.Handlers[0].Version = version }))
		w.write("o-0", 4)
		w.until("the stream's records wait behind the repaired ones", func() bool {
			rows := w.waitingRows()
			return len(rows) == 7 && rows[2].Again && !rows[3].Again
		})
		down.Store(false)
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1r 2r 3r 4]" {
			t.Errorf("delivered %s", got)
		}
	})
}

// TestALateRecordOfTheStreamIsNotOlderThanRepairedOnes: a worker that reads the stream late refuses
// what a repair has delivered. It reads marks only for records from before the repair's end.
func TestALateRecordOfTheStreamIsNotOlderThanRepairedOnes(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}
		transport, throughTransport := w.intercept()
		version := func(r streams.Record) int64 { _, v := keyAndVersion(r); return int64(v) }

		var behind atomic.Bool
		var marks atomic.Int64
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("GetItem") && contains(c, retryMarkPrefix) {
				marks.Add(1)
			}

			if c.Is("GetRecords") && behind.Load() {
				return awsError("ThrottlingException")
			}

			return nil
		})
		p := w.start(w.config(l.handle, short, throughTransport, func(c *Config) { c.Handlers[0].Version = version }))
		w.write("o-0", 1)
		w.until("a record in time is handled", func() bool { return len(l.all()) == 1 })

		if marks.Load() > 0 {
			t.Error("a record in time costs a read")
		}

		behind.Store(true)

		for v := 2; v <= 3; v++ {
			w.write("o-0", v)
		}
		w.runRebuild(w.rebuild())
		w.until("the repaired versions are handled", func() bool { return len(l.all()) == 4 && len(w.waitingRows()) == 0 })

		w.write("o-0", 4)
		behind.Store(false)
		w.until("the newer record is handled", func() bool { return len(l.all()) == 5 })

		if got := fmt.Sprint(l.of("o-0")); got != "[1 1r 2r 3r 4]" {
			t.Errorf("delivered %s", got)
		}

		// The repair was a while ago.
		marks.Store(0)

		ago := w.queue().Leases().Update(retryqueue.AdditionsRow).SetValue(leases.LeaseMarkedAt, dynamo.Millis(time.Now().Add(-2*retryqueue.MarkSlack)))
		if _, _, err := store.Apply(t.Context(), w.db, ago); err != nil {
			t.Fatal(err)
		}
		w.until("the worker knows it", func() bool {
			return time.Since(lanes.FromUnixMilli(p.scheduler.MarkedAt.Load())) > retryqueue.MarkSlack
		})
		w.write("o-0", 5)
		w.until("the record is handled", func() bool { return len(l.all()) == 6 })
		w.stopped(p)

		if marks.Load() > 0 {
			t.Error("a record after the repair costs a read")
		}
	})
}

func TestWhatARebuildNeedsIsChecked(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		for name, edit := range map[string]func(*replay.Rebuild){
			"Name":     func(r *replay.Rebuild) { r.Name = "a b" },
			"Handlers": func(r *replay.Rebuild) { r.Handlers = nil },
			"Expand":   func(r *replay.Rebuild) { r.Expand = nil },
			"DynamoDB": func(r *replay.Rebuild) { r.DynamoDB = nil },
			"Waiting":  func(r *replay.Rebuild) { r.MaxWaiting = -1 },
		} {
			if _, err := w.rebuild(edit).Run(t.Context()); err == nil {
				t.Errorf("%s: no error", name)
			}
		}

		if _, err := w.replay(func(r *replay.Replay) { r.Handlers = nil }).Run(t.Context()); err == nil {
			t.Error("a Replay without handlers: no error")
		}
	})
}
