package poller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

func TestAnAnswerIsConfirmedByItsNumberAndTime(t *testing.T) {
	var d lineage.Confirmation
	now := time.Now()

	for i, c := range []struct {
		after time.Duration
		want  bool
	}{
		{after: 0, want: false},
		{after: time.Minute, want: false}, // only the second answer
		{after: time.Minute, want: true},
	} {
		if got := d.Confirmed(now.Add(c.after), time.Minute); got != c.want {
			t.Errorf("answer %d: %v", i+1, got)
		}
	}

	d = lineage.Confirmation{}
	for range 10 {
		if d.Confirmed(now, time.Minute) {
			t.Fatal("ten answers at once were enough")
		}
	}
}

func TestOneMissingStreamAtTheStartIsNotItsEnd(t *testing.T) {
	// The first call asks for the stream of the table, the second one begins it.
	for nth := 1; nth <= 2; nth++ {
		t.Run(fmt.Sprint("call ", nth), func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				l := newRecorder()
				transport, throughTransport := w.intercept()
				missing := transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "DescribeStream").From(nth).Next(1))
				p := w.start(w.config(l.handle, throughTransport))
				w.write("o-0", 1)
				w.until("the record is handled", func() bool { return l.count() == 1 })
				w.until("it is healthy", func() bool { return p.Health() == nil })
				w.stopped(p)

				if missing.Strikes() != 1 {
					t.Error("the stream was not asked for so often")
				}
			})
		})
	}
}

func TestOneMissingStreamAtAListingLosesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		release := make(chan struct{})
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if _, v := keyAndVersion(r); v == 1 {
				select {
				case <-release:
				case <-ctx.Done():
					return ctx.Err()
				}
			}

			return l.handle(ctx, r)
		}, throughTransport, g.hook))
		w.write("o-0", 1)
		w.roll()
		w.write("o-1", 2)
		w.write("o-1", 3)
		w.until("the child is listed", func() bool { return len(w.leases()) == 2 })

		// The child waits for its parent, free and unread.
		missing := transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "DescribeStream").Next(1))
		w.until("a listing has failed", func() bool { return missing.Strikes() == 1 })
		close(release)
		w.until("all are handled", func() bool { return l.count() == 3 })
		w.stopped(p)

		if len(g.all()) != 0 {
			t.Errorf("gaps %+v", g.all())
		}
	})
}

// The reader of a shard and its listing both hear once that there is no stream.
func TestOneMissingStreamEndsNoShard(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, g.hook, func(c *Config) { c.discoverEvery = time.Minute }))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })

		listing := transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "DescribeStream").Next(1))
		transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "GetRecords", "GetShardIterator").Next(1))
		w.until("the stream was missing once", func() bool { return listing.Strikes() == 1 })
		w.write("o-0", 2)
		w.until("all are handled", func() bool { return l.count() == 2 })
		w.stopped(p)

		if len(g.all()) != 0 {
			t.Errorf("gaps %+v", g.all())
		}
	})
}

func TestOneMissingShardIsNotGone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, g.hook, func(c *Config) { c.discoverEvery = time.Minute }))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })

		// The listing that the poller has made does not have the child yet.
		transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "GetShardIterator").Next(1))
		w.roll()

		for v := 2; v <= 5; v++ {
			w.write("o-0", v)
		}
		w.until("all are handled", func() bool { return l.count() == 5 })
		w.stopped(p)
		l.ordered(t, 1, 5)

		if len(g.all()) != 0 {
			t.Errorf("gaps %+v", g.all())
		}
	})
}

func TestOneTrimmedAnswerIsNotAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, g.hook))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		trimmed := transport.Inject(embeddedtest.Answer("TrimmedDataAccessException", "GetRecords").Next(1))
		w.until("an answer was wrong", func() bool { return trimmed.Strikes() == 1 })
		w.write("o-0", 2)
		w.until("the second record is handled", func() bool { return l.count() == 2 })
		w.stopped(p)

		if len(g.all()) != 0 {
			t.Errorf("gaps %+v", g.all())
		}
	})
}

func TestRecordsBeforeAGapAreNotRepeatedAfterIt(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, g.hook))
		w.write("o-0", 1)
		w.write("o-0", 2)
		w.until("both records are handled", func() bool { return l.count() == 2 })

		// The answers are wrong for so long that they are believed. Nothing was trimmed.
		trimmed := transport.Inject(embeddedtest.Answer("TrimmedDataAccessException", "GetRecords", "GetShardIterator").Next(lineage.ConfirmingAnswers))
		w.until("the answers were wrong", func() bool { return trimmed.Strikes() == lineage.ConfirmingAnswers })
		w.write("o-0", 3)
		w.until("the third record is handled", func() bool { return l.count() == 3 })
		w.stopped(p)

		if len(g.all()) != 1 || g.all()[0].Reason != streams.GapTrimmed {
			t.Errorf("gaps %+v, want one", g.all())
		}
	})
}

func TestGapHaltStopsAtAShardThatHadNoReaderForADay(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle, func(c *Config) { c.Start = streams.Latest }))
		w.until("the shard is held", func() bool { return len(p.Lags()) == 1 })
		w.stopped(p)

		update := w.table().Update(w.leases()[0].Shard).SetValue(leaseStartAt, dynamo.Millis(time.Now().Add(-25*time.Hour)))
		if _, _, err := store.Apply(t.Context(), w.db, update); err != nil {
			t.Fatal(err)
		}
		w.write("o-0", 1)
		p = w.start(w.config(l.handle, g.hook, func(c *Config) { c.OnGap = streams.GapHalt }))
		w.ended(p)

		var halt *streams.GapError
		if err := p.stop(); !errors.As(err, &halt) || halt.Gap.Reason != streams.GapUnread || l.count() != 0 {
			t.Errorf("Run: %v, %d records handled", err, l.count())
		}

		p = w.start(w.config(l.handle, g.hook))
		w.until("the record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if len(g.all()) != 2 || w.leases()[0].Gaps != 2 {
			t.Errorf("gaps %+v, want one of each run", g.all())
		}
	})
}

// replaceStream replaces the table's stream.
func (w *testEnv) replaceStream() {
	w.setStream(noStream())
	w.setStream(bothImages())
}

func TestAStreamThatWasReplacedTwiceIsNotSkipped(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)
		w.replaceStream()
		w.write("o-0", 2)
		w.replaceStream()
		w.write("o-0", 3)
		p = w.start(w.config(l.handle, g.hook))
		w.until("all are handled", func() bool { return l.count() == 3 })
		w.stopped(p)
		l.ordered(t, 1, 3)

		// Changes between two streams would have made no records.
		all := g.all()
		if len(all) != 2 || all[0].Reason != streams.GapReplaced || all[0].Stream != w.arn || all[0].Since.IsZero() {
			t.Errorf("gaps %+v, want two", all)
		}
	})
}

func TestGapHaltStopsAtAReplacedStream(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle, func(c *Config) { c.OnGap = streams.GapHalt }))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.replaceStream()
		w.write("o-0", 2)
		w.ended(p)

		var halt *streams.GapError
		if err := p.stop(); !errors.As(err, &halt) || halt.Gap.Reason != streams.GapReplaced || l.count() != 1 {
			t.Errorf("Run: %v after %d records", err, l.count())
		}

		if err := error(halt); !strings.Contains(err.Error(), w.arn+" was replaced") {
			t.Errorf("error %v", err)
		}

		p = w.start(w.config(l.handle))
		w.until("the second record is handled", func() bool { return l.count() == 2 })
		w.stopped(p)
	})
}

func TestAStreamThatIsGoneWithUnreadShardsIsAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		for _, c := range []struct {
			policy  streams.GapPolicy
			handled int
		}{
			{policy: streams.GapContinue, handled: 2},
			{policy: streams.GapHalt, handled: 1},
		} {
			w := newTestEnv(t, 1)
			l, g := newRecorder(), &gaps{}
			p := w.start(w.config(l.handle))
			w.write("o-0", 1)
			w.until("the first record is handled", func() bool { return l.count() == 1 })
			w.stopped(p)
			w.write("o-0", 2) // in the old stream, unread
			w.replaceStream()
			w.write("o-0", 3)

			// A day later the service does not have the old stream any more.
			transport, throughTransport := w.intercept()
			arn := w.arn
			transport.Inject(embeddedtest.Answer("ResourceNotFoundException", "DescribeStream", "GetShardIterator").
				If(func(c *embeddedtest.Call) bool { return contains(c, arn) }))
			transport.Before(func(c *embeddedtest.Call) error {
				if c.Is("ListStreams") {
					return awsError("AccessDeniedException") // an old policy of the account
				}
				return nil
			})
			p = w.start(w.config(l.handle, g.hook, throughTransport, func(cfg *Config) { cfg.OnGap = c.policy }))

			if c.policy == streams.GapHalt {
				w.ended(p)

				var halt *streams.GapError
				if err := p.stop(); !errors.As(err, &halt) || halt.Gap.Reason != streams.GapGone {
					t.Errorf("Run: %v", err)
				}
			} else {
				w.until("the new stream is handled", func() bool { return l.count() == 2 })
				w.stopped(p)
			}

			if all := g.all(); l.count() != c.handled || len(all) == 0 || all[0].Reason != streams.GapGone || all[0].From == "" {
				t.Errorf("policy %v: %d handled, gaps %+v", c.policy, l.count(), all)
			}
		}
	})
}

func TestAChildWhoseParentWasNeverReadDeclaresAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		// The shard was found by a listing, long after its parent was trimmed.
		parent := shardID(time.Now().Add(-48 * time.Hour))

		shard := w.leases()[0].Shard
		if err := w.table().DeleteRow(t.Context(), shard); err != nil {
			t.Fatal(err)
		}
		w.insert(leases.Lease{Shard: shard, Parent: parent})
		w.write("o-0", 2)
		p = w.start(w.config(l.handle, g.hook))
		w.until("both records are handled", func() bool { return l.count() == 3 })
		w.stopped(p)

		if all := g.all(); len(all) != 1 || all[0].Reason != streams.GapParent || all[0].Shard != parent {
			t.Errorf("gaps %+v", all)
		}
	})
}

// Records of the first listing that were asked for are lost like all others.
func TestAShardOfTheFirstListingThatHadNoReaderForADayIsAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		for _, c := range []struct {
			name     string
			listedAt time.Time
			gaps     int
		}{
			{"a day ago", time.Now().Add(-25 * time.Hour), 1},
			{"today", time.Now().Add(-23 * time.Hour), 0},
		} {
			w := newTestEnv(t, 1)
			l, g := newRecorder(), &gaps{}
			p := w.start(w.config(l.handle))
			w.until("the shard is held", func() bool { return len(p.Lags()) == 1 })
			w.stopped(p)

			first := w.leases()[0]
			if time.Since(first.ListedAt).Abs() > time.Minute {
				t.Errorf("listed at %v", first.ListedAt)
			}

			if err := w.table().DeleteRow(t.Context(), first.Shard); err != nil {
				t.Fatal(err)
			}
			w.insert(leases.Lease{Shard: first.Shard, AtHorizon: true, ListedAt: c.listedAt})
			w.write("o-0", 1)
			p = w.start(w.config(l.handle, g.hook))
			w.until("the record is handled", func() bool { return l.count() == 1 })
			w.stopped(p)

			if all := g.all(); len(all) != c.gaps || (c.gaps > 0 && all[0].Reason != streams.GapUnread) {
				t.Errorf("listed %s: gaps %+v", c.name, all)
			}
		}
	})
}

// A shard whose parent is lost may have lost records itself.
func TestALostParentDoesNotHideTheGapOfItsChild(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle))
		w.until("the shard is held", func() bool { return len(p.Lags()) == 1 })
		w.stopped(p)

		shard := w.leases()[0].Shard
		if err := w.table().DeleteRow(t.Context(), shard); err != nil {
			t.Fatal(err)
		}

		parent, day := shardID(time.Now().Add(-48*time.Hour)), time.Now().Add(-25*time.Hour)
		w.insert(leases.Lease{Shard: shard, Parent: parent, ParentDone: true, ParentLost: true, StartAt: day})
		w.write("o-0", 1)
		p = w.start(w.config(l.handle, g.hook))
		w.until("the record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if all := g.all(); len(all) != 2 || all[0].Shard != parent || all[1].Shard != shard || all[1].Reason != streams.GapUnread || all[1].To == "" {
			t.Errorf("gaps %+v", all)
		}

		if lease := w.leases()[0]; lease.Gaps != 2 {
			t.Errorf("the lease has %d gaps", lease.Gaps)
		}
	})
}

func TestAPollerWithoutAStreamSaysSo(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var faults atomic.Int32
		p := w.start(w.config(l.handle, func(c *Config) {
			c.Events.Fault = func(_, _ string, err error) {
				if errors.Is(err, streams.ErrNoStream) {
					faults.Add(1)
				}
			}
		}))
		w.until("it reads", func() bool { return p.Health() == nil })
		w.setStream(noStream())
		w.until("it has no stream", func() bool { return errors.Is(p.Health(), streams.ErrNoStream) && faults.Load() > 0 })
		w.setStream(bothImages())
		w.write("o-0", 1)
		w.until("it reads again", func() bool { return p.Health() == nil && l.count() == 1 })
		w.stopped(p)

		if p, err := New(w.config(l.handle)); err != nil || p.Health() == nil {
			t.Errorf("a poller that has not started is healthy, %v", err)
		}
	})
}

func TestAStreamThatIsReportedClosedOnceIsReadOn(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.until("it reads", func() bool { return len(p.Lags()) == 1 })

		// What follows after the poller was told that its stream has ended.
		if next, err := p.findSuccessor(t.Context(), w.arn); err != nil || next != w.arn {
			t.Errorf("successor %s, %v, want the stream itself", next, err)
		}
		w.stopped(p)

		d := w.newTestDiscovery()
		for n, closed := range []bool{false, true} {
			if err := d.Reconcile(t.Context(), lineage.Listing{Status: "DISABLED"}, w.known()); err != nil || d.StreamClosed() != closed {
				t.Errorf("after %d listings: closed %v, %v", n+1, d.StreamClosed(), err)
			}
		}

		if err := d.Reconcile(t.Context(), lineage.Listing{Status: "ENABLED"}, w.known()); err != nil || d.StreamClosed() {
			t.Errorf("a stream that is open counts as closed, %v", err)
		}
	})
}

func TestAWorkerThatIsLateDoesNotTurnTheCurrentStreamBack(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p, err := New(w.config(newRecorder().handle))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()

		if first, err := p.firstStream(ctx); err != nil || first != w.arn {
			t.Fatalf("first stream %s, %v", first, err)
		}

		for _, c := range []struct{ from, to, want string }{
			{from: w.arn, to: "second", want: "second"},
			{from: "second", to: "third", want: "third"},
			{from: w.arn, to: "second", want: "third"}, // by a worker that was paused
		} {
			if got, err := p.replaceStream(ctx, c.from, c.to); err != nil || got != c.want {
				t.Errorf("%s to %s: %s, %v, want %s", c.from, c.to, got, err, c.want)
			}
		}

		if got, err := p.firstStream(ctx); err != nil || got != "third" {
			t.Errorf("first stream %s, %v", got, err)
		}
	})
}
