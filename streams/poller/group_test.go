package poller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

func TestEachGroupGetsAllRecordsAndKeepsItsOwnState(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)
		a, b := newRecorder(), newRecorder()
		inGroup := func(c *Config) { c.Group = "billing" }
		permanent := func(l *recorder, text string) streams.HandlerFunc {
			return func(ctx context.Context, r streams.Record) error {
				if id, _ := keyAndVersion(r); id == "o-0" {
					return streams.Permanent(errors.New(text + " in " + r.Group))
				}

				return l.handle(ctx, r)
			}
		}

		p := w.start(w.config(permanent(a, "first")))
		q := w.start(w.config(permanent(b, "second"), inGroup))
		const items = 100
		w.writeVersion(items, 1)
		w.until("both have all", func() bool { return a.count() == items-1 && b.count() == items-1 })
		w.until("both have their dead letters", func() bool {
			letters, _, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable, Group: "billing"}.List(t.Context(), "h", "", 0)
			return err == nil && len(letters) == 1 && letters[0].Error == "second in billing" && len(w.deadLetters("h")) == 1
		})
		w.stopped(p)
		w.stopped(q)

		if letters := w.deadLetters("h"); letters[0].Error != "first in " {
			t.Errorf("dead letter %+v", letters[0])
		}

		theirs, err := leases.Read(t.Context(), w.db, leasesTable, store.GroupKey("billing", w.arn))
		if err != nil || len(theirs) != 4 || len(w.leases()) != 4 {
			t.Errorf("%d and %d leases, want 4 each, %v", len(w.leases()), len(theirs), err)
		}

		if current, err := lineage.CurrentStream(t.Context(), w.db, leasesTable, store.GroupKey("billing", ordersTable)); err != nil || current != w.arn {
			t.Errorf("current stream %s, %v", current, err)
		}
	})
}

func TestAThirdGroupIsReported(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ctx := t.Context()
		rows := &leases.Table{API: w.db, Table: leasesTable, Stream: leases.GroupRowsPrefix + w.arn}
		for name, age := range map[string]time.Duration{"one": 0, "gone": time.Hour} {
			if _, _, err := store.Apply(ctx, w.db, rows.Update(name).SetValue(leases.GroupSeenAt, dynamo.Millis(time.Now().Add(-age)))); err != nil {
				t.Fatal(err)
			}
		}

		cfg := w.config(newRecorder().handle).withDefaults()
		c := coordinator{cfg: &cfg, stream: lineage.NewStream(cfg.lineage(), w.arn)}

		if err := c.checkGroups(ctx); err != nil {
			t.Errorf("with two groups: %v", err)
		}

		var reported atomic.Int32
		p := w.start(w.config(newRecorder().handle, func(c *Config) {
			c.Group = "third"
			c.Events.Fault = func(_, _ string, err error) {
				if errors.Is(err, streams.ErrTooManyGroups) {
					reported.Add(1)
				}
			}
		}))
		w.until("it is reported", func() bool { return reported.Load() > 0 })
		w.stopped(p)
	})
}

func TestGroupsAndHandlersWithOtherNamesAreRefused(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		for _, edit := range []func(*Config){
			func(c *Config) { c.Group = "a/b" },
			func(c *Config) { c.Handlers[0].Name = "group/a/h" },
		} {
			if _, err := New(w.config(newRecorder().handle, edit)); err == nil {
				t.Error("accepted")
			}
		}
	})
}
