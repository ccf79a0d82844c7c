package poller

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
	"ratchet/streams/store"
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
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)
		l := newRecorder()
		var lost atomic.Int32
		count := func(c *Config) {
			c.Events.Lease = func(e streams.LeaseEvent) {
				if e.Change == streams.LeaseLost {
					lost.Add(1)
				}
			}
		}
		a := w.start(w.config(l.handle, count))
		w.until("the first worker holds all leases", func() bool { return w.owners()[a.Owner()] == 4 })

		for v := 1; v <= 10; v++ {
			w.write("o-0", v)
		}

		epochs := map[string]int64{}
		for _, lease := range w.leases() {
			epochs[lease.Shard] = lease.Epoch
		}
		b := w.start(w.config(l.handle, count))
		w.until("both hold two leases", func() bool { o := w.owners(); return o[a.Owner()] == 2 && o[b.Owner()] == 2 })

		for _, lease := range w.leases() {
			if lease.Epoch-epochs[lease.Shard] > 1 {
				t.Errorf("the lease of %s moved more than once", lease.Shard)
			}
		}

		for v := 11; v <= 20; v++ {
			w.write("o-0", v)
		}
		w.until("all are handled", func() bool { return l.distinct() == 20 })
		began := time.Now()
		w.stopped(a)
		w.until("the other worker holds all leases", func() bool { return w.owners()[b.Owner()] == 4 })

		if took := time.Since(began); took > time.Second {
			t.Errorf("the leases were taken over after %v, want less than a second", took)
		}
		w.stopped(b)
		l.ordered(t, 1, 20)

		if l.count() != 20 || lost.Load() != 0 {
			t.Errorf("%d calls for 20 records, %d leases lost", l.count(), lost.Load())
		}
	})
}

func TestADeletedLeaseIsRestoredByItsHolder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })

		before := w.leases()[0]
		for _, row := range []string{before.Shard, leases.StreamStateRow} {
			if _, err := w.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: aws.String(leasesTable), Key: leases.Key(w.arn, row),
			}); err != nil {
				t.Fatal(err)
			}
		}
		w.write("o-0", 2)
		w.until("the lease is back", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint > before.Checkpoint })

		if after := w.leases()[0]; after.Epoch <= before.Epoch || after.Owner != p.Owner() {
			t.Errorf("the restored lease is %+v", after)
		}
		w.until("the state of the stream is stored again", func() bool {
			_, state, err := w.table().Read(context.Background())
			return err == nil && state != nil && state.Ready
		})
		w.write("o-0", 3)
		w.until("all are handled", func() bool { return l.distinct() == 3 })
		w.stopped(p)
		l.ordered(t, 1, 3)

		if l.count() != 3 {
			t.Errorf("%d calls for 3 records", l.count())
		}
	})
}

func TestAWorkerThatWasPausedTooLongWritesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })
		w.stopped(p)
		table := &leases.Table{API: w.db, Table: leasesTable, Stream: w.arn}
		ctx := context.Background()
		free := w.leases()[0]

		mine, ok, err := table.Take(ctx, free, "paused")
		if err != nil || !ok {
			t.Fatalf("take: %v, %v", ok, err)
		}

		paused := holders.Hold(table, mine, time.Now(), time.Second)
		if _, ok, err := table.Take(ctx, free, "late"); ok || err != nil {
			t.Fatalf("a lease was taken although it had changed since it was read: %v", err)
		}

		if _, ok, err := table.Take(ctx, mine, "other"); !ok || err != nil {
			t.Fatalf("take over: %v, %v", ok, err)
		}
		want := w.leases()[0]

		for name, p := range map[string]leases.Progress{
			"renew":      {},
			"checkpoint": {Checkpoint: "999999999999999999999999"},
			"release":    {Release: true},
			"finish":     {Finished: time.Now()},
		} {
			if err := paused.Write(ctx, p); err != streams.ErrLeaseLost { //nolint:errorlint // exactly this one
				t.Errorf("%s: %v", name, err)
			}
		}

		if got := w.leases()[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("the paused worker changed the lease: %+v, want %+v", got, want)
		}
	})
}

// A write that is delayed on the wire must not undo a newer one of the same owner.
func TestADelayedWriteDoesNotMoveTheCheckpointBack(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.insert(leases.Lease{Shard: "s"})
		ctx := t.Context()

		l, ok, err := w.table().Take(ctx, w.lease("s"), "w")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		h := holders.Hold(w.table(), l, time.Now(), time.Minute)
		delayed := w.table().Renewal(l, leases.Progress{Checkpoint: "1"})

		if err := h.Write(ctx, leases.Progress{Checkpoint: "2"}); err != nil {
			t.Fatal(err)
		}

		if _, applied, err := store.Apply(ctx, w.db, delayed); err != nil || applied {
			t.Errorf("the delayed write was applied: %v, %v", applied, err)
		}

		if got := w.lease("s").Checkpoint; got != "2" {
			t.Errorf("checkpoint %s, want 2", got)
		}
	})
}

// For half a minute the lease table serves nothing. No worker can take the leases, and the
// worker goes on with them.
func TestALeaseTableThatIsThrottledFor30SecondsLosesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 4)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport, defaultTimes))
		w.write("o-0", 1)
		sleepUntil(t, time.Minute, func() bool { return l.count() == 1 && w.owners()[p.Owner()] == 4 })
		time.Sleep(5 * time.Second)

		transport.Before(func(c *embeddedtest.Call) error {
			if c.Service == "dynamodb" && contains(c, `"`+leasesTable+`"`) {
				return awsError("ThrottlingException")
			}

			return nil
		})
		time.Sleep(30 * time.Second)
		w.write("o-0", 2)
		transport.Before(nil)

		took := sleepUntil(t, 15*time.Second, func() bool { return l.distinct() == 2 })
		t.Logf("the next record was handled %v after the end of the throttling", took)

		if n := w.owners(); n[p.Owner()] != 4 {
			t.Errorf("leases by owner: %v", n)
		}
		w.stopped(p)
		l.ordered(t, 1, 2)

		if l.count() != 2 {
			t.Errorf("%d calls for 2 records", l.count())
		}
	})
}

func TestAWorkerThatCannotRenewStopsBeforeItsLeaseExpires(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		entered := make(chan struct{})
		ended := make(chan error, 1)
		var when atomic.Int64
		cfg := w.config(func(ctx context.Context, _ streams.Record) error {
			close(entered)
			<-ctx.Done()
			when.Store(time.Now().UnixNano())
			ended <- context.Cause(ctx)

			return ctx.Err()
		}, throughTransport)
		p := w.start(cfg)
		w.write("o-1", 1)
		<-entered
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem") {
				return awsError("ProvisionedThroughputExceededException")
			}
			return nil
		})
		began := time.Now()

		if cause := <-ended; !errors.Is(cause, streams.ErrLeaseLost) {
			t.Errorf("the handler's context ended with %v, want ErrLeaseLost", cause)
		}

		if took := time.Unix(0, when.Load()).Sub(began); took > cfg.LeaseDuration {
			t.Errorf("the handler ran for %v, the lease lasts %v", took, cfg.LeaseDuration)
		}
		transport.Before(func(c *embeddedtest.Call) error { return errors.New("gone") })
		_ = p.stop()
	})
}

func TestAThrottledLeaseTableLosesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		p := w.start(w.config(l.handle, throughTransport))
		w.write("o-0", 1)
		w.until("the first record is handled", func() bool { return l.count() == 1 })
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem") || c.Is("Query") {
				return awsError("ThrottlingException")
			}
			return nil
		})
		worker.Wait(t.Context(), 2*time.Second) // two leases long
		transport.Before(nil)

		for v := 2; v <= 5; v++ {
			w.write("o-0", v)
		}
		w.until("the other records are handled", func() bool { return l.distinct() == 5 })
		w.stopped(p)
		l.ordered(t, 1, 5)
	})
}

func TestLostAnswersOfLeaseWritesDoNotLoseTheLease(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		transport, throughTransport := w.intercept()
		var moves, updates atomic.Int32
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem") && updates.Add(1)%3 == 0 { // by count, so that a retry is not lost, too
				return embeddedtest.ErrAnswerLost
			}
			return nil
		})

		p := w.start(w.config(l.handle, throughTransport, func(c *Config) {
			c.LeaseDuration = 10 * time.Second // so that not every answer within one lease is lost
			c.Events.Lease = func(e streams.LeaseEvent) {
				if e.Change == streams.LeaseLost {
					moves.Add(1)
				}
			}
		}))
		for v := 1; v <= 30; v++ {
			w.write("o-0", v)
			worker.Wait(t.Context(), 5*time.Millisecond)
		}
		w.roll()
		w.write("o-0", 31)
		w.until("all are handled", func() bool { return l.distinct() == 31 })
		transport.Before(nil)
		w.stopped(p)
		l.ordered(t, 1, 31)

		if l.count() != 31 || moves.Load() != 0 {
			t.Errorf("%d calls for 31 records, %d leases lost", l.count(), moves.Load())
		}
	})
}
