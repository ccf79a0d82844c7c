package poller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// setFormat makes a row one of another format.
func (w *testEnv) setFormat(table string, key dynamo.Item, format int64) {
	w.Helper()

	update := dynamo.NewUpdate(table, key).IfPresent(store.Format).SetValue(store.Format, dynamo.N(format))
	if _, applied, err := store.Apply(w.Context(), w.db, update); err != nil || !applied {
		w.Fatalf("the row has no format: %v", err)
	}
}

// refusedByName checks that an error names the row, its format and the known format.
func refusedByName(t *testing.T, what string, err error, row string) {
	t.Helper()

	if !errors.Is(err, store.ErrNewerFormat) || !strings.Contains(err.Error(), row+" ") || !strings.Contains(err.Error(), "has format 2, this program reads formats up to 1") {
		t.Errorf("%s: refused with: %v", what, err)
	}
}

// TestARetryRowOfANewerFormatIsRefusedByName: what waits in it, and the item's later records, stay until a
// worker comes that reads it. Other items go on.
func TestARetryRowOfANewerFormatIsRefusedByName(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table, l := w.retries(), newRecorder()
		first := w.waitingVersion(1)
		first.Keys["part"] = dynamo.S("-")
		hash := store.HashOf(store.ItemKey(first))
		id := "item/" + hash.Text() + "/b" + store.PaddedSequence("1")
		key := store.RowKey(retryqueue.SourcePrefix+ordersTable+"/h", id)

		if _, err := table.Park(t.Context(), hash, first, retryqueue.Row{NextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		w.setFormat(deadTable, key, store.QueueRowFormat+1)

		var faults atomic.Int32
		p := w.start(w.config(l.handle, func(c *Config) {
			c.DrainTimeout = 50 * time.Millisecond
			c.Events.Fault = func(_, _ string, err error) {
				if errors.Is(err, store.ErrNewerFormat) {
					faults.Add(1)
				}
			}
		}))
		w.write("o-0", 2)
		w.write("o-1", 1)
		w.until("the other item is handled and both uses of the row are reported", func() bool { return l.distinct() == 1 && faults.Load() > 1 })
		w.stopped(p)

		if got := l.of("o-0"); len(got) > 0 {
			t.Errorf("handled %v of the item that waits", got)
		}

		waiting, err := retryqueue.Items(t.Context(), deadletters.Letters{DynamoDB: w.db, Table: deadTable}, ordersTable, "h")
		if err != nil || len(waiting) != 1 || !strings.Contains(waiting[0].Error, id) {
			t.Errorf("waiting %+v, %v", waiting, err)
		}

		rows := w.scanDeadLetters()

		_, err = table.Park(t.Context(), hash, first, retryqueue.Row{})
		refusedByName(t, "park", err, id)

		if n := w.scanDeadLetters(); n != rows {
			t.Errorf("%d rows after adding to the row, %d before", n, rows)
		}

		// A worker that knows the format.
		w.setFormat(deadTable, key, store.QueueRowFormat)
		p = w.start(w.config(l.handle))
		w.until("all are handled", func() bool { return l.distinct() == 3 && len(w.waitingRows()) == 0 })
		w.stopped(p)
		l.ordered(t, 1, 2)
	})
}

// TestADeadLetterOfANewerFormatIsRefusedByName: it is listed and stays as it is, also when a redrive of it
// is under way.
func TestADeadLetterOfANewerFormatIsRefusedByName(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		id := w.storeLetters("o-0/1", "o-1/1")[0]
		dead, l := deadletters.Letters{DynamoDB: w.db, Table: deadTable}, newRecorder()
		key := (&deadletters.Table{}).Key("h", id)

		if err := w.queue().Redrive(t.Context(), "h", id); err != nil {
			t.Fatal(err)
		}
		w.setFormat(deadTable, key, store.DeadLetterFormat+1)

		letters := w.deadLetters("h")
		if len(letters) != 2 || letters[0].ID != id || !strings.Contains(letters[0].Unreadable, id) || letters[1].Unreadable != "" {
			t.Errorf("letters %+v", letters)
		}

		h := streams.Handler{Name: "h", Handle: l.handle}
		for what, use := range map[string]func() error{
			"get":              func() error { _, err := dead.Get(t.Context(), "h", id); return err },
			"delete":           func() error { return dead.Delete(t.Context(), "h", id) },
			"redrive":          func() error { return dead.Redrive(t.Context(), id, h) },
			"redrive by queue": func() error { return w.queue().Redrive(t.Context(), "h", id) },
			"rewrite":          func() error { return dead.Rewrite(t.Context(), "h", id, "", func(*streams.Record) {}) },
		} {
			err := use()
			if !errors.Is(err, deadletters.ErrUnreadable) {
				t.Errorf("%s: not unreadable: %v", what, err)
			}
			refusedByName(t, what, err, id)
		}

		var faults atomic.Int32
		p := w.start(w.config(l.handle, short, func(c *Config) {
			c.Events.Fault = func(_, _ string, err error) {
				if errors.Is(err, store.ErrNewerFormat) {
					faults.Add(1)
				}
			}
		}))
		w.until("the redrive is reported", func() bool { return faults.Load() > 0 })
		w.stopped(p)

		if rows := w.waitingRows(); l.count() > 0 || len(rows) != 1 || !rows[0].Again {
			t.Errorf("%d calls, rows %+v", l.count(), rows)
		}

		w.setFormat(deadTable, key, store.DeadLetterFormat)
		p = w.start(w.config(l.handle, short))
		w.until("it is redriven", func() bool { return l.count() == 1 && len(w.deadLetters("h")) == 1 })
		w.stopped(p)
	})
}

// TestThePositionOfARebuildOfANewerFormatIsRefusedByName, and stays where it is.
func TestThePositionOfARebuildOfANewerFormatIsRefusedByName(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.writeVersion(2, 1)

		ctx, cancel := context.WithCancel(t.Context())
		first := w.rebuild(func(r *replay.Rebuild) { r.Progress = func(replay.RebuildCount) { cancel() } })
		if _, err := first.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}

		second := w.rebuild()
		key := leases.Key(rebuildRowsPrefix+ordersTable, second.Name)
		w.setFormat(leasesTable, key, store.PositionFormat+1)

		for _, restart := range []bool{false, true} {
			second.Restart = restart
			_, err := second.Run(t.Context())
			refusedByName(t, "run", err, "rebuild "+second.Name+": "+store.ErrNewerFormat.Error()+": its row in the lease table")
		}
		second.Restart = false

		w.setFormat(leasesTable, key, store.PositionFormat)

		if count := w.runRebuild(second); !count.Resumed || count.Items != 2 {
			t.Errorf("%+v", count)
		}
	})
}
