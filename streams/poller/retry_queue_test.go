package poller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

var errOutage = errors.New("503 from the far side")

// patient makes records that fail wait in the retry queue at once, without an end.
func patient(c *Config) {
	c.Retry = streams.Retry{Base: 5 * time.Millisecond, Max: 20 * time.Millisecond}
	c.parkAfter = time.Millisecond
}

// waitingRows returns the records in the retry queue of handler h.
func (w *testEnv) waitingRows() []retryqueue.Row {
	w.Helper()

	rows, err := w.retries().List(w.Context(), "h")
	if err != nil {
		w.Fatal(err)
	}

	return rows
}

func (w *testEnv) retries() *retryqueue.Table {
	return &retryqueue.Table{API: w.db, Table: deadTable, Scope: ordersTable}
}

func TestAnOutageMakesRecordsWaitAndNoDeadLetters(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)
		var attempt atomic.Int32

		handle := func(ctx context.Context, r streams.Record) error {
			if id, _ := keyAndVersion(r); id == "o-0" && down.Load() {
				attempt.Store(int32(r.Attempt))
				return errOutage
			}

			return l.handle(ctx, r)
		}

		p := w.start(w.config(handle, patient))
		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
		}
		w.write("o-1", 1)
		w.until("the item's records wait and the checkpoint has passed them", func() bool {
			rows := w.waitingRows()
			return len(rows) == 3 && l.count() == 1 && store.CompareSequence(w.leases()[0].Checkpoint, rows[2].Sequence) >= 0
		})
		w.until("it is retried", func() bool { return attempt.Load() > 7 })
		w.stopped(p)

		// The attempts survive the restart.
		before := attempt.Swap(0)
		p = w.start(w.config(handle, patient))
		w.until("it is retried again", func() bool { return attempt.Load() > before })
		w.write("o-0", 4)
		worker.Wait(t.Context(), 20*time.Millisecond)
		down.Store(false)
		w.until("all are handled", func() bool { return l.count() == 5 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2 3 4]" {
			t.Errorf("handled %s", got)
		}

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}

func TestRecordsThatWaitKeepTheirOrderAcrossRolloversAndWorkers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		const items, versions = 20, 20
		l := newRecorder()
		var busy sync.Map // the items that are in a handler
		var down atomic.Bool
		handle := func(ctx context.Context, r streams.Record) error {
			id, _ := keyAndVersion(r)
			if _, twice := busy.LoadOrStore(id, true); twice {
				t.Errorf("two handlers for %s at once", id)
			}
			defer busy.Delete(id)

			if down.Load() && rand.N(2) == 0 {
				return errOutage
			}

			return l.handle(ctx, r)
		}

		first := w.start(w.config(handle, patient))
		second := w.start(w.config(handle, patient))
		var writers sync.WaitGroup
		for i := range 2 {
			writers.Go(func() {
				for v := 1; v <= versions; v++ {
					for k := i; k < items; k += 2 {
						w.write("o-"+strconv.Itoa(k), v)
					}
					worker.Wait(t.Context(), 5*time.Millisecond)
				}
			})
		}

		var third *runningPoller
		for i := range 6 {
			down.Store(i%2 == 0)
			worker.Wait(t.Context(), 30*time.Millisecond)

			switch i {
			case 1:
				w.roll()
			case 2:
				for _, lease := range w.leases() {
					if !lease.Finished() {
						if err := w.engine.SplitShard(context.Background(), w.arn, lease.Shard); err != nil {
							t.Log(err) // rolled over meanwhile
						}
					}
				}
			case 3:
				third = w.start(w.config(handle, patient))
			case 4:
				w.stopped(first)
			}
		}
		down.Store(false)
		writers.Wait()
		w.until("all records have been handled", func() bool { return l.distinct() == items*versions })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(second)
		w.stopped(third)
		l.ordered(t, items, versions)

		if n := l.count(); n != items*versions {
			t.Errorf("%d successful calls for %d records although no worker crashed", n, items*versions)
		}
	})
}

func TestAChildShardDoesNotOvertakeARecordThatWaits(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)

		handle := func(ctx context.Context, r streams.Record) error {
			if _, v := keyAndVersion(r); v == 1 && down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}
		p := w.start(w.config(handle, patient))
		w.write("o-0", 1)
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })
		w.roll()
		w.until("the parent is finished", func() bool { return w.leases()[0].Finished() })
		w.stopped(p)

		p = w.start(w.config(handle, patient))
		w.write("o-0", 2)
		w.until("both wait", func() bool { return len(w.waitingRows()) == 2 })
		down.Store(false)
		w.until("all are handled", func() bool { return len(l.of("o-0")) == 2 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2]" {
			t.Errorf("handled %s", got)
		}
	})
}

func TestTheEndOfTheRetriesAndPermanentErrorsMakeDeadLettersOfWaitingRecords(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(*Config)
		fails    func(attempt int) error
		attempts int
	}{
		{
			name:  "the time is over",
			edit:  func(c *Config) { c.Retry.For = 100 * time.Millisecond },
			fails: func(int) error { return errOutage },
		},
		{
			name:     "the attempts are used up",
			edit:     func(c *Config) { c.Handlers[0].Retry.Attempts = 5 },
			fails:    func(int) error { return errOutage },
			attempts: 5,
		},
		{
			name:     "a permanent error",
			attempts: 5,
			fails: func(attempt int) error {
				if attempt > 4 {
					return streams.Permanent(errOutage)
				}
				return errOutage
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				l := newRecorder()
				handle := func(ctx context.Context, r streams.Record) error {
					if _, v := keyAndVersion(r); v == 1 {
						return c.fails(r.Attempt)
					}

					return l.handle(ctx, r)
				}

				edits := []func(*Config){patient}
				if c.edit != nil {
					edits = append(edits, c.edit)
				}
				p := w.start(w.config(handle, edits...))
				w.write("o-0", 1)
				w.write("o-0", 2)
				w.until("the later record is handled", func() bool { return l.count() == 1 })
				w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
				w.stopped(p)

				letters := w.deadLetters("h")
				if len(letters) != 1 || (c.attempts > 0 && letters[0].Attempts != c.attempts) || letters[0].Error != errOutage.Error() {
					t.Errorf("dead letters %+v", letters)
				}
			})
		})
	}
}

func TestAHandlerThatNeverGivesUpHasNoDeadLetters(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if r.Attempt < 8 {
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient, func(c *Config) {
			c.Retry.For = time.Millisecond
			c.Handlers[0].Attempts = -1
		}))
		w.write("o-0", 1)
		w.until("it is handled", func() bool { return l.count() == 1 })
		w.stopped(p)

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}

func TestAPauseThatTheFarSideAsksForIsKept(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var calls atomic.Int32
		var next atomic.Int64

		p := w.start(w.config(func(context.Context, streams.Record) error {
			calls.Add(1)
			return fmt.Errorf("send: %w", streams.RetryAfter(errOutage, time.Hour))
		}, patient, func(c *Config) {
			c.Events.Retrying = func(r streams.Retrying) {
				if r.Parked && errors.Is(r.Err, errOutage) {
					next.Store(int64(time.Until(r.NextTry)))
				}
			}
		}))
		w.write("o-0", 1)
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })
		worker.Wait(t.Context(), 100*time.Millisecond)
		w.stopped(p)

		if wait := time.Duration(next.Load()); calls.Load() != 1 || wait < 59*time.Minute {
			t.Errorf("%d calls, next in %v, want one and an hour", calls.Load(), wait)
		}

		items, err := retryqueue.Items(t.Context(), deadletters.Letters{DynamoDB: w.db, Table: deadTable}, ordersTable, "h")
		if err != nil || len(items) != 1 {
			t.Fatalf("waiting items %+v, %v", items, err)
		}

		if i := items[0]; dynamo.Text(i.Keys, "id") != "o-0" || i.Records != 1 || i.Attempts != 1 || i.Error != "send: "+errOutage.Error() || i.Since.IsZero() {
			t.Errorf("waiting item %+v", i)
		}

		if row := w.waitingRows()[0]; time.Until(row.NextTry) < 59*time.Minute || row.Attempts != 1 || row.LastErr != "send: "+errOutage.Error() {
			t.Errorf("row %+v", row)
		}

		if streams.RetryAfter(nil, time.Hour) != nil {
			t.Error("RetryAfter(nil) is an error")
		}
	})
}

func TestAHandlerThatFailsForEveryItemIsProbed(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)
		var calls atomic.Int32
		const items = 20

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				calls.Add(1)
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient, func(c *Config) {
			c.Concurrency = 1
			c.Retry.Base, c.Retry.Max = time.Hour, time.Hour
		}))
		w.writeVersion(items, 1)
		w.until("all wait", func() bool { return len(w.waitingRows()) == items })

		if n := calls.Load(); n != circuitItems {
			t.Errorf("%d calls, want %d: the others were parked without one", n, circuitItems)
		}

		// The probe comes after the pause of the circuit; then the others follow although
		// none of them is due for an hour.
		down.Store(false)
		worker.Wait(t.Context(), 30*time.Second)
		w.until("all are handled", func() bool { return l.distinct() == items })
		w.stopped(p)
	})
}

func TestLogsOfRetriesNameItemAttemptErrorAndNextTry(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var log lockedBuffer
		p := w.start(w.config(func(context.Context, streams.Record) error { return errOutage }, patient, func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		}))
		w.write("o-0", 1)
		w.until("the third attempt is logged", func() bool { return strings.Contains(log.String(), "attempt=3") })
		w.stopped(p)

		for _, want := range []string{"handler=h", "item=3:o-0-", `err="503 from the far side"`, "nextTry=20"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, log.String())
			}
		}
	})
}

// lockedBuffer is a buffer for the logs of several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buf.String()
}

func TestAStreamHasNotEndedWhileARecordOfItWaits(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		var down atomic.Bool
		down.Store(true)
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if down.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient, func(c *Config) { c.TableName, c.StreamARN = "", w.arn }))
		w.write("o-0", 1)
		w.until("it waits", func() bool { return len(w.waitingRows()) == 1 })
		w.setStream(noStream())
		w.until("the shard is finished", func() bool { return w.leases()[0].Finished() })

		select {
		case <-p.done:
			t.Error("Run returned although a record waits")
		case <-time.After(50 * time.Millisecond):
		}

		down.Store(false)
		w.ended(p)

		if err := p.stop(); !errors.Is(err, streams.ErrStreamEnded) || l.count() != 1 {
			t.Errorf("Run: %v after %d records", err, l.count())
		}
	})
}

func TestAFailedCallIsRepeatedForThreeDays(t *testing.T) {
	retry := Config{Handlers: []streams.Handler{{Name: "h", Handle: newRecorder().handle}}}.withDefaults().Handlers[0].Retry
	first := time.Now()

	if calls.Exhausted(retry, 1000, first, first.Add(72*time.Hour)) {
		t.Error("given up within 72 hours")
	}

	if !calls.Exhausted(retry, 1000, first, first.Add(72*time.Hour+time.Millisecond)) {
		t.Error("not given up after 72 hours")
	}
}
