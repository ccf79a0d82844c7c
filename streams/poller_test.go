package streams

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

func TestEveryRecordArrivesInOrderAcrossRolloversSplitsAndWorkers(t *testing.T) {
	w := newTestEnv(t, 3)
	const items, versions = 40, 25
	l := newRecorder()
	var busy sync.Map // item -> in a handler
	handle := func(ctx context.Context, r Record) error {
		id, v := keyAndVersion(r)
		if _, twice := busy.LoadOrStore(id, true); twice {
			t.Errorf("two handlers for %s at once", id)
		}
		defer busy.Delete(id)

		if rand.N(20) == 0 {
			worker.Wait(ctx, time.Millisecond)
		}

		if v%7 == 3 && r.Attempt == 1 {
			return errors.New("once more")
		}

		return l.handle(ctx, r)
	}

	first := w.start(w.config(handle))
	second := w.start(w.config(handle))
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for v := 1; v <= versions; v++ {
				for k := i; k < items; k += 4 {
					w.write("o-"+strconv.Itoa(k), v)
				}
			}
		})
	}

	var third *running
	for i := range 6 {
		worker.Wait(t.Context(), 20*time.Millisecond)
		w.roll()

		switch i {
		case 1:
			for _, lease := range w.leases() {
				if !lease.Finished() {
					if err := w.engine.SplitShard(context.Background(), w.arn, lease.Shard); err != nil {
						t.Log(err) // rolled over meanwhile
					}
				}
			}
		case 2:
			third = w.start(w.config(handle))
		case 4:
			w.stopped(first)
		}
	}
	writers.Wait()
	w.until("all records have been handled", func() bool { return l.distinct() == items*versions })
	w.stopped(second)
	w.stopped(third)
	l.ordered(t, items, versions)

	if n := l.count(); n != items*versions {
		t.Errorf("%d calls for %d records although nobody crashed", n, items*versions)
	}

	for _, lease := range w.leases() {
		if lease.Owner != "" {
			t.Errorf("%s still belongs to %s", lease.Shard, lease.Owner)
		}
	}
}

func TestACrashedWorkerIsReplacedWithoutLoss(t *testing.T) {
	w := newTestEnv(t, 4)
	const items, versions = 30, 20
	l := newRecorder()
	crash := w.faults()
	doomed := w.start(w.config(l.handle, crash.clients(w)))
	w.until("the first worker has all leases", func() bool {
		n := 0
		for _, lease := range w.leases() {
			if lease.Owner == doomed.Owner() {
				n++
			}
		}

		return n == 4
	})

	for v := 1; v <= versions/2; v++ {
		for k := range items {
			w.write("o-"+strconv.Itoa(k), v)
		}
	}
	w.until("some records have been handled", func() bool { return l.count() > items })
	crash.set(func(string, []byte) error { return errors.New("no network") })
	died := time.Now()

	heir := w.start(w.config(l.handle))
	for v := versions/2 + 1; v <= versions; v++ {
		for k := range items {
			w.write("o-"+strconv.Itoa(k), v)
		}
	}
	w.until("all records have been handled", func() bool { return l.distinct() == items*versions })

	if took := time.Since(died); took > 3*time.Second {
		t.Errorf("take-over took %v with a lease of 1s", took)
	}
	w.stopped(heir)
	l.ordered(t, items, versions)
	// What the cut-off worker still tries changes nothing.
	crash.set(nil)
	_ = doomed.stop()

	for _, lease := range w.leases() {
		if lease.Checkpoint == "" {
			t.Errorf("%s lost its checkpoint", lease.Shard)
		}
	}
}

func TestAWorkerCutOffFromItsLeasesStopsBeforeTheyExpire(t *testing.T) {
	w := newTestEnv(t, 1)
	cut := w.faults()
	entered := make(chan struct{})
	ended := make(chan error, 1)
	var when atomic.Int64
	cfg := w.config(func(ctx context.Context, _ Record) error {
		close(entered)
		<-ctx.Done()
		when.Store(time.Now().UnixNano())
		ended <- context.Cause(ctx)

		return ctx.Err()
	}, cut.clients(w))
	p := w.start(cfg)
	w.write("o-1", 1)
	<-entered
	cut.set(func(op string, _ []byte) error {
		if op == "UpdateItem" {
			return awsRefusal("ProvisionedThroughputExceededException")
		}
		return nil
	})
	began := time.Now()

	if cause := <-ended; !errors.Is(cause, ErrLeaseLost) {
		t.Errorf("handler ended by %v", cause)
	}

	if took := time.Unix(0, when.Load()).Sub(began); took > cfg.LeaseDuration {
		t.Errorf("handler went on for %v, the lease lasts %v", took, cfg.LeaseDuration)
	}
	cut.set(func(string, []byte) error { return errors.New("gone") })
	_ = p.stop()
}

func TestAThrottledLeaseTableLosesNothing(t *testing.T) {
	w := newTestEnv(t, 2)
	l := newRecorder()
	f := w.faults()
	p := w.start(w.config(l.handle, f.clients(w)))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	f.set(func(op string, _ []byte) error {
		if op == "UpdateItem" || op == "Query" {
			return awsRefusal("ThrottlingException")
		}
		return nil
	})
	worker.Wait(t.Context(), 2*time.Second) // two leases long
	f.set(nil)

	for v := 2; v <= 5; v++ {
		w.write("o-0", v)
	}
	w.until("the rest is handled", func() bool { return l.distinct() == 5 })
	w.stopped(p)
	l.ordered(t, 1, 5)
}

func TestAChildWaitsUntilTheParentsLastRecordIsHandled(t *testing.T) {
	w := newTestEnv(t, 1)
	release := make(chan struct{})
	l := newRecorder()
	p := w.start(w.config(func(ctx context.Context, r Record) error {
		if _, v := keyAndVersion(r); v == 1 {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
		}

		return l.handle(ctx, r)
	}))
	w.write("o-0", 1)
	w.roll()
	w.write("other", 2) // in the child
	w.roll()
	w.write("o-0", 2) // in the grandchild
	w.until("the first shard is read to its end", func() bool {
		for _, lag := range p.Lags() {
			if lag.Pending == 1 {
				return true
			}
		}

		return false
	})
	worker.Wait(t.Context(), 100*time.Millisecond)

	if n := l.count(); n != 0 {
		t.Fatalf("%d records handled before the parent's", n)
	}
	close(release)
	w.until("all are handled", func() bool { return l.count() == 3 })
	w.stopped(p)
	l.ordered(t, 1, 2)
}

func TestAPoisonRecordBlocksOnlyItsKeyAndBecomesADeadLetter(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	var attempts atomic.Int32
	cause := errors.New("cannot be done")

	p := w.start(w.config(func(ctx context.Context, r Record) error {
		if id, v := keyAndVersion(r); id == "o-0" && v == 2 {
			attempts.Add(1)
			return cause
		}

		return l.handle(ctx, r)
	}))
	for v := 1; v <= 3; v++ {
		w.write("o-0", v)
		w.write("o-1", v)
	}
	w.until("the others are handled", func() bool { return l.count() == 5 })
	w.stopped(p)

	if n := attempts.Load(); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}

	if got := fmt.Sprint(l.of("o-0"), l.of("o-1")); got != "[1 3] [1 2 3]" {
		t.Errorf("handled %s", got)
	}
	dead := DeadLetters{DynamoDB: w.db, Table: deadTable}

	letters, next, err := dead.List(context.Background(), "h", "", 10)
	if err != nil || len(letters) != 1 || next != "" {
		t.Fatalf("letters %v, %q, %v", letters, next, err)
	}

	letter := letters[0]
	if letter.Error != cause.Error() || letter.Attempts != 3 || letter.Permanent {
		t.Errorf("letter %+v", letter)
	}

	if r := letter.Record; dynamo.Number(r.New, "version") != 2 || dynamo.Number(r.Old, "version") != 1 || r.Epoch == 0 {
		t.Errorf("record %+v", r)
	}

	if err := w.redrives(dead, letter, cause); err != nil {
		t.Error(err)
	}
	// The checkpoint is past the letter: nothing comes again.
	before := attempts.Load()
	p = w.start(w.config(l.handle))
	w.write("o-9", 1)
	w.until("new records are handled", func() bool { return len(l.of("o-9")) == 1 })
	w.stopped(p)

	if attempts.Load() != before || l.count() != 6 {
		t.Errorf("%d records handled in all, want 6", l.count())
	}
}

// redrives fails a redrive, refuses one, and then does one.
func (w *testEnv) redrives(dead DeadLetters, letter DeadLetter, cause error) error {
	ctx := context.Background()
	h := Handler{Name: "h", Handle: func(context.Context, Record) error { return cause }}
	if err := dead.Redrive(ctx, letter.ID, h, nil); !errors.Is(err, cause) {
		return fmt.Errorf("failing redrive: %w", err)
	}

	again, err := dead.Get(ctx, "h", letter.ID)
	if err != nil || again.Redrives != 1 {
		return fmt.Errorf("after a failed redrive: %+v, %w", again, err)
	}

	moved := errors.New("the order has moved on")
	if err := dead.Redrive(ctx, letter.ID, h, func(context.Context, Record) error { return moved }); !errors.Is(err, moved) {
		return fmt.Errorf("refused redrive: %w", err)
	}
	var got Record

	h.Handle = func(_ context.Context, r Record) error { got = r; return nil }
	if err := dead.Redrive(ctx, letter.ID, h, nil); err != nil {
		return err
	}

	if got.SequenceNumber != letter.Record.SequenceNumber || got.Attempt != 5 {
		return fmt.Errorf("redrove %+v", got)
	}

	if err := dead.Redrive(ctx, letter.ID, h, nil); !errors.Is(err, ErrDeadLetterNotFound) {
		return fmt.Errorf("redrive of a letter that is done: %w", err)
	}

	return nil
}

func TestPanicGoexitTimeoutAndPermanentAreAnswered(t *testing.T) {
	w := newTestEnv(t, 1)
	var calls sync.Map
	p := w.start(w.config(nil, func(c *Config) {
		c.Handlers = []Handler{
			{Name: "panics", Attempts: 2, Handle: func(context.Context, Record) error { panic("boom") }},
			{Name: "exits", Attempts: 2, Handle: func(context.Context, Record) error { runtime.Goexit(); return nil }},
			{Name: "hangs", Attempts: 2, Timeout: 5 * time.Millisecond, Handle: func(ctx context.Context, _ Record) error { <-ctx.Done(); return ctx.Err() }},
			{Name: "refuses", Attempts: 2, Handle: func(context.Context, Record) error { return Permanent(errors.New("never")) }},
			{Name: "filter panics", Filter: func(Record) bool { panic("filter") }, Handle: func(context.Context, Record) error { return nil }},
		}
		c.Events.DeadLetter = func(r Record, attempts int, err error) { calls.Store(r.Handler, fmt.Sprint(attempts, " ", err)) }
	}))
	w.write("o-0", 1)
	n := func() (n int) { calls.Range(func(any, any) bool { n++; return true }); return n }
	w.until("every handler has given up", func() bool { return n() == 5 })
	w.stopped(p)

	for handler, want := range map[string]string{
		"panics": "2 handler panicked: boom", "exits": "2 handler called runtime.Goexit",
		"hangs": "2 streams: handler timed out after 5ms: context deadline exceeded", "refuses": "1 never",
		"filter panics": "0 filter of handler filter panics: handler panicked: filter",
	} {
		if got, _ := calls.Load(handler); got != want {
			t.Errorf("%s: %v, want %s", handler, got, want)
		}
	}

	if c := w.leases()[0].Checkpoint; c == "" {
		t.Error("no checkpoint behind the dead letters")
	}
}

func TestABrokenHandlerDoesNotDelayTheOthersAndBoundsWhatIsRead(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	var broken atomic.Bool
	broken.Store(true)
	var late atomic.Int32

	p := w.start(w.config(nil, func(c *Config) {
		c.MaxPending = 50
		c.Handlers = []Handler{
			{Name: "good", Handle: l.handle},
			{Name: "bad", Attempts: -1, Handle: func(context.Context, Record) error {
				if broken.Load() {
					return errors.New("not now")
				}
				late.Add(1)

				return nil
			}},
		}
	}))
	for k := range 200 {
		w.write("o-"+strconv.Itoa(k), 1)
	}
	w.until("the good handler has what fits", func() bool { return l.count() >= 50 })
	worker.Wait(t.Context(), 50*time.Millisecond)

	if n := l.count(); n > 100 {
		t.Errorf("%d records read although the bad handler holds 50", n)
	}

	for _, lease := range w.leases() {
		if lease.Checkpoint != "" {
			t.Errorf("checkpoint %s passed unfinished records", lease.Checkpoint)
		}
	}
	broken.Store(false)
	w.until("both are through", func() bool { return l.count() == 200 && late.Load() == 200 })
	w.stopped(p)
}

func TestUnavailableDeadLettersHoldTheCheckpoint(t *testing.T) {
	w := newTestEnv(t, 1)
	f := w.faults()
	f.set(func(op string, body []byte) error {
		if op == "PutItem" && contains(body, deadTable) {
			return awsRefusal("InternalServerError")
		}
		return nil
	})
	var failures atomic.Int32
	p := w.start(w.config(func(context.Context, Record) error { return Permanent(errors.New("no")) }, f.clients(w), func(c *Config) {
		c.Events.Fault = func(op, _ string, _ error) {
			if op == "PutItem" {
				failures.Add(1)
			}
		}
	}))
	w.write("o-0", 1)
	w.until("storing the letter has failed twice", func() bool { return failures.Load() > 1 })

	if c := w.leases()[0].Checkpoint; c != "" {
		t.Errorf("checkpoint %s passed a record that is nowhere", c)
	}
	f.set(nil)
	w.until("the checkpoint moves", func() bool { return w.leases()[0].Checkpoint != "" })
	w.stopped(p)

	letters, _, err := DeadLetters{DynamoDB: w.db, Table: deadTable}.List(context.Background(), "h", "", 0)
	if err != nil || len(letters) != 1 {
		t.Errorf("letters %v, %v", letters, err)
	}
}
