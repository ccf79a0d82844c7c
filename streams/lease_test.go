package streams

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/worker"
)

// owners counts the unfinished leases of each owner.
func (w *testEnv) owners() map[string]int {
	n := map[string]int{}
	for _, l := range w.leases() {
		if !l.Finished() {
			n[l.Owner]++
		}
	}

	return n
}

func TestANewWorkerGetsItsShareByHandOver(t *testing.T) {
	w := newTestEnv(t, 4)
	l := newRecorder()
	var lost atomic.Int32
	count := func(c *Config) {
		c.Events.Lease = func(e LeaseEvent) {
			if e.Change == LeaseLost {
				lost.Add(1)
			}
		}
	}
	a := w.start(w.config(l.handle, count))
	w.until("the first has all", func() bool { return w.owners()[a.Owner()] == 4 })

	for v := 1; v <= 10; v++ {
		w.write("o-0", v)
	}

	epochs := map[string]int64{}
	for _, lease := range w.leases() {
		epochs[lease.Shard] = lease.Epoch
	}
	b := w.start(w.config(l.handle, count))
	w.until("both have two", func() bool { o := w.owners(); return o[a.Owner()] == 2 && o[b.Owner()] == 2 })

	for _, lease := range w.leases() {
		if lease.Epoch-epochs[lease.Shard] > 1 {
			t.Errorf("%s moved more than once", lease.Shard)
		}
	}

	for v := 11; v <= 20; v++ {
		w.write("o-0", v)
	}
	w.until("all are handled", func() bool { return l.distinct() == 20 })
	began := time.Now()
	w.stopped(a)
	w.until("the other has all", func() bool { return w.owners()[b.Owner()] == 4 })

	if took := time.Since(began); took > time.Second {
		t.Errorf("the successor came after %v", took)
	}
	w.stopped(b)
	l.ordered(t, 1, 20)

	if l.count() != 20 || lost.Load() != 0 {
		t.Errorf("%d calls for 20 records, %d leases lost", l.count(), lost.Load())
	}
}

func TestADeletedLeaseIsRestoredByItsHolder(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	p := w.start(w.config(l.handle))
	w.write("o-0", 1)
	w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })

	before := w.leases()[0]
	for _, row := range []string{before.Shard, streamStateRow} {
		if _, err := w.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
			TableName: aws.String(leasesTable), Key: leaseKey(w.arn, row),
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.write("o-0", 2)
	w.until("the lease is back", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint > before.Checkpoint })

	if after := w.leases()[0]; after.Epoch <= before.Epoch || after.Owner != p.Owner() {
		t.Errorf("restored as %+v", after)
	}
	w.until("the marker is back", func() bool {
		_, state, err := queryLeases(context.Background(), w.db, leasesTable, w.arn)
		return err == nil && state != nil && state.ready
	})
	w.write("o-0", 3)
	w.until("all are handled", func() bool { return l.distinct() == 3 })
	w.stopped(p)
	l.ordered(t, 1, 3)

	if l.count() != 3 {
		t.Errorf("%d calls for 3 records", l.count())
	}
}

func TestAWorkerThatWokeUpTooLateWritesNothing(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	p := w.start(w.config(l.handle))
	w.write("o-0", 1)
	w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })
	w.stopped(p)
	table := &leaseTable{api: w.db, table: leasesTable, stream: w.arn}
	ctx := context.Background()
	free := w.leases()[0]

	mine, ok, err := table.take(ctx, free, "sleeper")
	if err != nil || !ok {
		t.Fatalf("take: %v, %v", ok, err)
	}

	sleeper := newHeldLease(table, mine, time.Now(), time.Second)
	if _, ok, err := table.take(ctx, free, "late"); ok || err != nil {
		t.Fatalf("a lease was taken by an outdated view: %v", err)
	}

	if _, ok, err := table.take(ctx, mine, "other"); !ok || err != nil {
		t.Fatalf("take over: %v, %v", ok, err)
	}
	want := w.leases()[0]

	for name, p := range map[string]progress{
		"renew": {}, "checkpoint": {checkpoint: "999999999999999999999999"}, "release": {release: true}, "finish": {finished: time.Now()},
	} {
		if err := sleeper.write(ctx, p); err != ErrLeaseLost { //nolint:errorlint // exactly this one
			t.Errorf("%s: %v", name, err)
		}
	}

	if got := w.leases()[0]; got != want {
		t.Errorf("the sleeper changed the lease: %+v, want %+v", got, want)
	}
}

func TestHintsWakeIdleReadersAndIdlingIsCheap(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	f := w.faults()
	hint := make(chan struct{}, 1)
	p := w.start(w.config(l.handle, f.clients(w), func(c *Config) {
		c.PollActive, c.PollIdle, c.Hint = time.Millisecond, time.Minute, hint
	}))
	w.write("o-0", 1)
	w.until("the first record is handled", func() bool { return l.count() == 1 })
	// The pauses have grown to many times PollActive.
	idle := func() bool {
		n := f.count("GetRecords")
		worker.Wait(t.Context(), 100*time.Millisecond)
		return f.count("GetRecords")-n <= 3
	}
	w.until("the reader idles", idle)
	w.write("o-0", 2)
	began := time.Now()
	hint <- struct{}{}
	w.until("the hint has brought the record", func() bool { return l.count() == 2 })

	if took := time.Since(began); took > 50*time.Millisecond {
		t.Errorf("woken after %v", took)
	}
	w.stopped(p)
}

func TestManyShardsAreListedPageByPage(t *testing.T) {
	w := newTestEnv(t, 230)
	l := newRecorder()

	p := w.start(w.config(l.handle, func(c *Config) { c.LeaseDuration = 5 * time.Second; c.PollIdle = time.Second }))
	for k := range 50 {
		w.write("o-"+strconv.Itoa(k), 1)
	}
	w.until("all are handled", func() bool { return l.distinct() == 50 })

	if n := len(w.leases()); n != 230 {
		t.Errorf("%d leases for 230 shards", n)
	}
	w.stopped(p)
}

func TestConfigIsChecked(t *testing.T) {
	w := newTestEnv(t, 1)
	nop := func(context.Context, Record) error { return nil }
	for want, edit := range map[string]func(*Config){
		"streams: Config.Streams and Config.DynamoDB must be set":                   func(c *Config) { c.Streams = nil },
		"streams: exactly one of Config.TableName and Config.StreamARN must be set": func(c *Config) { c.TableName = "" },
		"streams: Config.LeaseTable and Config.DeadLetterTable must be set":         func(c *Config) { c.DeadLetterTable = "" },
		"streams: Config.Handlers is empty":                                         func(c *Config) { c.Handlers = nil },
		`streams: two handlers are named "h"`:                                       func(c *Config) { c.Handlers = append(c.Handlers, c.Handlers[0]) },
		"streams: Config.PageSize is 1001, want 1 to 1000":                          func(c *Config) { c.PageSize = 1001 },
		"streams: Config.LeaseDuration is 1ms, want at least 100ms":                 func(c *Config) { c.LeaseDuration = time.Millisecond },
	} {
		if _, err := New(w.config(nop, edit)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}

	p := w.start(w.config(nop, func(c *Config) { c.TableName = "nowhere" }))
	if err := p.stop(); err != nil {
		t.Logf("stopped before it looked: %v", err)
	}
	p = w.start(w.config(nop, func(c *Config) { c.TableName = leasesTable }))
	<-p.done

	if err := p.stop(); err == nil || err.Error() != "streams: table leases has no stream" {
		t.Errorf("Run: %v", err)
	}
}
