package poller

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/shards"
	"ratchet/streams/store"
)

// gaps collects the Gaps that are reported.
type gaps struct {
	mu   sync.Mutex
	list []streams.Gap
}

func (g *gaps) hook(c *Config) {
	c.Events.Gap = func(gap streams.Gap) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.list = append(g.list, gap)
	}
}

func (g *gaps) all() []streams.Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]streams.Gap(nil), g.list...)
}

// trimBehind handles version 1, then stops the poller, trims version 2 and writes
// version 3.
func (w *testEnv) trimBehind(l *recorder) {
	p := w.start(w.config(l.handle))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	w.stopped(p)
	w.write("o-0", 2)

	if err := w.engine.TrimStream(context.Background(), w.arn, embedded.TrimPoint{}); err != nil {
		w.Fatal(err)
	}
	w.write("o-0", 3)
}

func TestTrimmedRecordsAreReportedAsAGap(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		w.trimBehind(l)
		last := w.leases()[0].Checkpoint
		var faults atomic.Int32
		p := w.start(w.config(l.handle, g.hook, func(c *Config) {
			c.Events.Fault = func(string, string, error) { faults.Add(1) }
		}))
		w.until("the record after the gap is handled", func() bool { return l.count() == 2 })
		w.stopped(p)

		if n := faults.Load(); n != 0 {
			t.Errorf("%d failed calls other than the one that found the gap", n)
		}

		all := g.all()
		if len(all) != 1 || all[0].From != last || store.CompareSequence(all[0].To, last) <= 0 || all[0].Until.Before(all[0].Since) {
			t.Fatalf("gaps %+v, want one from %s", all, last)
		}

		if lease := w.leases()[0]; lease.Gaps != 1 || lease.GapFrom != last || lease.Checkpoint != all[0].To {
			t.Errorf("lease %+v", lease)
		}
	})
}

func TestAGapEndsRunUnderGapHalt(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		w.trimBehind(l)
		p := w.start(w.config(l.handle, g.hook, func(c *Config) { c.OnGap = streams.GapHalt }))
		w.ended(p)

		var gap *streams.GapError
		if err := p.stop(); !errors.As(err, &gap) || gap.Gap.From == "" {
			t.Fatalf("Run: %v", err)
		}

		if l.count() != 1 {
			t.Error("a record after the gap was handled")
		}
		p = w.start(w.config(l.handle, g.hook))
		w.until("the record after the gap is handled", func() bool { return l.count() == 2 })
		w.stopped(p)
	})
}

func TestReadingResumesAfterTheLastRecordWhenAnIteratorExpires(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		var n atomic.Int32
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("GetRecords") && n.Add(1)%3 == 0 {
				return awsError("ExpiredIteratorException")
			}

			if c.Is("GetRecords") && n.Load()%5 == 0 {
				return embeddedtest.ErrAnswerLost
			}

			return nil
		})

		p := w.start(w.config(l.handle, throughTransport, func(c *Config) { c.pageSize = 2 }))
		w.writeVersions(3, 10)
		w.until("all are handled", func() bool { return l.distinct() == 30 })
		w.stopped(p)
		l.ordered(t, 3, 10)

		if l.count() != 30 {
			t.Errorf("%d calls for 30 records", l.count())
		}
	})
}

// TestAnIteratorThatExpiresBeforeItsFirstReadLosesNothing: after a long wait for room, for example.
func TestAnIteratorThatExpiresBeforeItsFirstReadLosesNothing(t *testing.T) {
	for name, start := range map[string]streams.Position{"from the oldest record": streams.TrimHorizon, "from now": streams.Latest} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				l, g := newRecorder(), &gaps{}
				transport, throughTransport := w.intercept()
				expired := transport.Inject(embeddedtest.Answer("ExpiredIteratorException", "GetRecords").Next(3))
				p := w.start(w.config(l.handle, throughTransport, g.hook, func(c *Config) { c.Start = start }))
				w.until("an iterator has expired", func() bool { return expired.Strikes() > 0 })
				w.writeVersions(1, 3)
				w.until("all are handled", func() bool { return l.distinct() == 3 })
				w.stopped(p)
				l.ordered(t, 1, 3)

				if l.count() != 3 || len(g.all()) != 0 {
					t.Errorf("%d calls for 3 records, gaps %+v", l.count(), g.all())
				}
			})
		})
	}
}

// A shard that DynamoDB no longer knows has lost whatever was not read of it.
func TestAShardThatIsGoneIsReportedAsAGapAndFinished(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, g.hook))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		w.until("its checkpoint is stored", func() bool { return w.leases()[0].Checkpoint != "" })
		before := w.leases()[0]

		transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
			if !c.Is("DescribeStream") {
				return send()
			}

			response, err := send()
			if err != nil {
				return nil, err
			}
			defer response.Body.Close()

			body, err := io.ReadAll(response.Body)
			if err != nil {
				return nil, err
			}

			// The listing has another shard in its place.
			listing := strings.ReplaceAll(string(body), `"ShardId":"`+before.Shard+`"`, `"ShardId":"another"`)

			return c.Respond(http.StatusOK, listing), nil
		})
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("GetRecords", "GetShardIterator") && !w.leases()[0].Finished() {
				return awsError("ResourceNotFoundException")
			}
			return nil
		})
		w.until("the shard is finished", func() bool { return w.lease(before.Shard).Finished() })
		transport.Clear()
		w.stopped(p)

		if all := g.all(); len(all) != 1 || all[0].Shard != before.Shard || all[0].From != before.Checkpoint {
			t.Errorf("gaps %+v, want one after %s", all, before.Checkpoint)
		}

		if lease := w.lease(before.Shard); lease.Gaps != 1 {
			t.Errorf("lease %+v, want one gap", lease)
		}
	})
}

func TestGapErrorNamesTheShardAndThePosition(t *testing.T) {
	for _, c := range []struct {
		gap  streams.Gap
		want string
	}{
		{gap: streams.Gap{Shard: "s", From: "7"}, want: "streams: records of shard s after 7 were trimmed"},
		{gap: streams.Gap{Shard: "s"}, want: "streams: records of shard s after its start were trimmed"},
	} {
		if err := (&streams.GapError{Gap: c.gap}); !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s...", err, c.want)
		}
	}
}

// testReader returns the reader of a shard without a lease, whose handler is h, or a handler that does
// nothing.
func testReader(t *testing.T, api lineage.API, h streams.HandlerFunc) *shards.Reader {
	t.Helper()

	if h == nil {
		h = func(context.Context, streams.Record) error { return nil }
	}

	cfg := Config{Streams: api, Handlers: []streams.Handler{{Name: "h", Handle: h}}, Log: embeddedtest.Quiet()}.withDefaults()
	scheduler, _ := cfg.newScheduler()
	window := lanes.NewWindow(cfg.maxPending, lanes.MaxWindow, &lanes.Memory{Limit: cfg.maxPendingBytes})
	lease := holders.Hold(nil, leases.Lease{}, time.Now(), 24*time.Hour)

	return &shards.Reader{
		Cfg:    cfg.shards(),
		Stream: lineage.NewStream(cfg.lineage(), "arn"),
		Shard:  "s",
		Lanes:  scheduler.NewShard(t.Context(), lease, window),
		Wake:   make(chan struct{}, 1),
		OnGap:  func(streams.Gap) {},
	}
}

// The service has listed shards as open that had children. Such a shard never ends by itself.
func TestAShardThatStaysEmptyAndHasAChildIsAtItsEnd(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s, _ := newFleet(1)
		pages := 0
		r := testReader(t, s, nil)
		r.Cfg.Events.Page = func(streams.Page) { pages++ }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		if err := r.Run(ctx); err != nil || ctx.Err() == nil {
			t.Fatalf("a shard without children ended: %v", err)
		}

		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		r.ChildKnown.Store(true)
		r.EmptyPages, pages = 0, 0
		began := time.Now()

		if err := r.Run(ctx); !errors.Is(err, shards.ErrShardEnd) {
			t.Fatalf("run: %v", err)
		}

		if took := time.Since(began); pages < closedAfterPages || took < closedAfterTime || took > 5*closedAfterTime {
			t.Errorf("ended after %d pages and %v", pages, took)
		}
	})
}

// The pages of a closed shard that are empty are not waited for.
func TestEmptyPagesOfAClosedShardFollowEachOther(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s, _ := newFleet(1)
		pages := 0
		r := testReader(t, s, nil)
		r.ChildKnown.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		began := time.Now()
		r.Cfg.Events.Page = func(streams.Page) {
			if pages++; pages == closedAfterPages && time.Since(began) > 0 {
				t.Errorf("%d empty pages took %v", pages, time.Since(began))
			}
		}

		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// At MaxPending the reader stops. The lag is the age of the oldest unfinished record and grows,
// however many records the shard has beyond.
func TestTheLagIsTrueAtMaxPending(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		release := make(chan struct{})
		l := newRecorder()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}

			return l.handle(ctx, r)
		}, func(c *Config) { c.maxPending, c.pageSize, c.Concurrency = 10, 5, 2 }))

		w.writeVersion(50, 1)
		w.until("the reader has stopped", func() bool { return w.lagOf(p) >= 10 })

		first := p.Lags()[0]
		w.until("the lag has grown", func() bool {
			lag := p.Lags()[0]
			return lag.Age > first.Age+10*time.Millisecond && lag.Pending <= 15 && !lag.CaughtUp
		})
		close(release)
		w.until("all are handled", func() bool { return l.count() == 50 })
		w.until("the reader has caught up", func() bool {
			lag := p.Lags()[0]
			return lag.CaughtUp && lag.Pending == 0
		})
		w.stopped(p)
	})
}

// The bytes of unfinished records are bounded, also where the service reports no sizes.
func TestAReaderStopsAtMaxPendingBytes(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		release := make(chan struct{})
		l := newRecorder()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}

			return l.handle(ctx, r)
		}, func(c *Config) { c.maxPendingBytes, c.pageSize = 10*minRecordSize, 10 }))

		w.writeVersion(200, 1)
		w.until("records are pending", func() bool { return w.lagOf(p) >= 10 })

		for range 20 {
			worker.Wait(t.Context(), time.Millisecond)

			if n := w.lagOf(p); n > 20 {
				t.Fatalf("%d records of %d bytes or more are pending, the limit is 10 of them and a page", n, minRecordSize)
			}
		}
		close(release)
		w.until("all are handled", func() bool { return l.count() == 200 })
		w.stopped(p)
	})
}

// A reader repeats its calls itself: the retries of the SDK's client have a budget that all
// shards share.
func TestAThrottledShardUsesUpNoSharedBudget(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		transport, throughTransport := w.intercept()

		var faults atomic.Int32
		throttled := transport.Inject(embeddedtest.Answer("ThrottlingException", "GetRecords").Next(3))
		p := w.start(w.config(l.handle, throughTransport, func(c *Config) {
			c.Events.Fault = func(op, _ string, _ error) {
				if op == "GetRecords" {
					faults.Add(1)
				}
			}
		}))
		w.write("o-0", 1)
		w.until("the record is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if n := throttled.Strikes(); n != 3 || faults.Load() != 3 {
			t.Errorf("%d failed calls, %d seen by the reader", n, faults.Load())
		}
	})
}
