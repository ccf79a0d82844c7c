package poller

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// suspectReader returns the reader of a suspect shard with one page of records of one item, after
// which the end of the shard stops it, and how often it stores the tried records. died is the note of
// the records that were tried when the last worker ended.
func suspectReader(t *testing.T, handle streams.HandlerFunc, records, left int, died *leases.TryNote) (r *shardReader, notes *int) {
	cfg := Config{Handlers: []streams.Handler{{Name: "h", Handle: handle}}}.withDefaults()
	scheduler, _ := cfg.newScheduler()
	window := lanes.NewWindow(100, 100, &lanes.Memory{Limit: 1 << 20})
	shard := scheduler.NewShard(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour), window)

	notes = new(int)
	suspect := lanes.NewSuspect(leases.Lease{Trying: died}, left)
	suspect.Begin = func(context.Context, *leases.TryNote) error { *notes++; return nil }
	suspect.Ended = func(*leases.TryNote) {}
	shard.Suspect.Store(suspect)

	last := page{records: make([]streamtypes.Record, records)}
	for i := range last.records {
		last.records[i].Dynamodb = &streamtypes.StreamRecord{
			SequenceNumber: aws.String(strconv.Itoa(i + 1)),
			Keys:           map[string]streamtypes.AttributeValue{"id": &streamtypes.AttributeValueMemberS{Value: "o-0"}},
		}
	}
	r = &shardReader{cfg: cfg.shards(), stream: &lineage.Stream{}, lanes: shard, iterator: "of the last page", ahead: make(chan page, 1)}
	r.ahead <- last

	return r, notes
}

// TestAStopWithinTheLastPageOfASuspectShardIsNotItsEnd: the records of the page that were not handed
// to the handlers would be lost with the shard.
func TestAStopWithinTheLastPageOfASuspectShardIsNotItsEnd(t *testing.T) {
	virtually(t, func(t *testing.T) {
		called := make(chan string)
		r, _ := suspectReader(t, func(_ context.Context, r streams.Record) error {
			called <- r.SequenceNumber
			return nil
		}, 3, 10, &leases.TryNote{UpTo: "3"})

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.run(ctx) }()
		synctest.Wait()
		stop()

		if err := <-ended; err != nil {
			t.Errorf("reading ended with %v", err)
		}

		if first := <-called; first != "1" {
			t.Errorf("called for %s", first)
		}
		<-r.lanes.Stop()
		r.lanes.Scheduler.Goroutines.Wait()

		if checkpoint, _ := r.lanes.Window.Checkpoint(); checkpoint != "1" {
			t.Errorf("checkpoint %s", checkpoint)
		}
	})
}

// TestAShardIsSuspectForSoManyRecords: the tried records are stored for each batch, and for each record of
// the batch that has ended a worker. Later records cost no writes, and neither do the records of a shard
// that has no suspect ones left.
func TestAShardIsSuspectForSoManyRecords(t *testing.T) {
	const records = 3*suspectBatch - 10

	for _, test := range []struct {
		name  string
		died  *leases.TryNote
		left  int
		notes int
	}{
		{"in batches", nil, records + 1, 3},
		{"up to a record", nil, suspectBatch + 1, 2},
		{"a batch has ended a worker", &leases.TryNote{UpTo: "5"}, records + 1, 5 + 3},
		{"a record has", &leases.TryNote{UpTo: "5", Sequence: "2", Tries: map[string]int{"h": 1}}, 7, 5 + 1},
	} {
		r, notes := suspectReader(t, newRecorder().handle, records, test.left, test.died)
		if err := r.run(t.Context()); !errors.Is(err, errShardEnd) {
			t.Fatal(err)
		}

		if err := r.lanes.Window.WaitUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}

		if *notes != test.notes {
			t.Errorf("%s: %d notes for %d of %d records, want %d", test.name, *notes, test.left, records, test.notes)
		}

		if suspect := r.lanes.Suspect.Load() != nil; suspect != (test.left > records) {
			t.Errorf("%s: after %d of %d records: suspect %t", test.name, test.left, records, suspect)
		}
		r.emptyPages = caughtUpPages
		r.noteCaughtUp(page{})

		if r.lanes.Suspect.Load() != nil {
			t.Error("a shard without records is suspect")
		}
		<-r.lanes.Stop()
		r.lanes.Scheduler.Goroutines.Wait()
	}
}

// TestWhichDeathsMakeAShardSuspect: deaths of other workers, in a row, without progress and with
// records that could have caused them.
func TestWhichDeathsMakeAShardSuspect(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		w.write("o-0", 1)
		w.handleAll(l, 1)

		die := func(owner string, want int64) {
			t.Helper()

			lease, ours, err := w.table().Take(t.Context(), w.leases()[0], owner)
			if err != nil || !ours {
				t.Fatal(ours, err)
			}

			if lease.Deaths != want {
				t.Errorf("%s has taken the lease after %d deaths, want %d", owner, lease.Deaths, want)
			}
		}
		store := func(p leases.Progress) {
			t.Helper()

			lease := w.leases()[0]
			if err := holders.Hold(w.table(), lease, time.Now(), time.Minute).Write(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}

		die("a", 0)
		die("b", 1)
		die("b", 1) // it has lost the lease and taken it again
		die("c", 2)
		store(leases.Progress{Release: true})
		die("e", 0)
		die("f", 1)

		// The next worker finds no record that has not been handled.
		p := w.start(w.config(l.handle, short))
		w.until("the deaths are forgotten", func() bool {
			lease := w.leases()[0]
			return lease.Owner != "" && lease.Owner != "f" && lease.Deaths == 0
		})
		w.stopped(p)

		die("g", 0)
		die("h", 1)
		die("i", 2)
		die("j", 3)

		if !w.leases()[0].IsSuspect() {
			t.Error("the shard is not suspect")
		}
		store(leases.Progress{Release: true})
		w.write("o-0", 2)
		w.handleAll(l, 2)

		if lease := w.leases()[0]; lease.IsSuspect() {
			t.Errorf("lease %+v", lease)
		}

		die("k", 0)
		die("l", 1)
		store(leases.Progress{Checkpoint: strings.Repeat("9", 30)})
		die("m", 1)
	})
}

// handleAll runs a worker until the recorder has so many records.
func (w *testEnv) handleAll(l *recorder, records int) {
	w.Helper()

	p := w.start(w.config(l.handle))
	w.until("all are handled", func() bool { return l.distinct() == records && len(w.leases()) > 0 && w.leases()[0].Checkpoint != "" })
	w.stopped(p)
}

// TestAnOutageDoesNotHoldASuspectShardBack: a record whose call fails waits in the retry queue, and
// the shard does not wait Config.parkAfter for each.
func TestAnOutageDoesNotHoldASuspectShardBack(t *testing.T) {
	const items = 40

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, beside := newRecorder(), newRecorder()
		w.write("o-0", 1)
		w.handleAll(l, 1)

		for i := range leases.SuspectAfter + 1 {
			if _, ours, err := w.table().Take(t.Context(), w.leases()[0], strconv.Itoa(i)); err != nil || !ours {
				t.Fatal(ours, err)
			}
		}

		w.writeVersion(items, 2)

		down := func(context.Context, streams.Record) error { return errOutage }
		p := w.start(w.config(down, defaultTimes, func(c *Config) {
			c.Retry = streams.Retry{}
			c.Handlers = append(c.Handlers, streams.Handler{Name: "beside", Handle: beside.handle})
		}))
		sleepUntil(t, 5*time.Minute, func() bool { return w.leases()[0].Owner != strconv.Itoa(leases.SuspectAfter) })
		sleepUntil(t, 3*time.Second, func() bool { return beside.distinct() == items && len(w.waitingRows()) == items })
		w.stopped(p)
	})
}

// TestTheTriesOfARecordAreNotThoseOfAReplay: a record that is delivered again on request comes
// before a record that has ended workers, and is not blamed for it.
func TestTheTriesOfARecordAreNotThoseOfAReplay(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table, hash, ctx := w.retries(), store.HashOf("o"), t.Context()
		keys := dynamo.Item{"id": dynamo.S("o")}

		r := streams.Record{StreamARN: w.arn, SequenceNumber: "1", Handler: "h", Keys: keys}
		if _, err := table.Create(ctx, hash, r, retryqueue.Row{NextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		tries := func(want int) retryqueue.Row {
			t.Helper()

			row, ok, err := table.Get(ctx, "h", hash)
			if err != nil || !ok || row.Tries.Count != want {
				t.Fatalf("%+v, want %d; %t, %v", row.Tries, want, ok, err)
			}

			return row
		}

		begin := func(row retryqueue.Row, count int) {
			t.Helper()

			if begun, err := table.BeginTry(ctx, "h", row, retryqueue.TryCount{Count: count, By: "w"}); err != nil || !begun {
				t.Fatal(begun, err)
			}
		}
		begin(tries(0), lanes.MaxDeaths)

		if err := table.AddReplays(ctx, "h", hash, keys, []retryqueue.Waiting{{Sequence: "0", DeadLetter: "a"}}); err != nil {
			t.Fatal(err)
		}
		begin(tries(0), 1)

		if _, err := table.Pop(ctx, "h", tries(1)); err != nil {
			t.Fatal(err)
		}
		tries(lanes.MaxDeaths)
	})
}

// TestAWaitingRecordIsNotReadWhileAnotherCallIsTriedAlone: a call may take minutes, and others look
// every 10 ms whether it has ended.
func TestAWaitingRecordIsNotReadWhileAnotherCallIsTriedAlone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		transport.Before(func(c *embeddedtest.Call) error {
			t.Errorf("a call of %s", c.Operation)
			return nil
		})
		cfg := w.config(newRecorder().handle, throughTransport).withDefaults()
		scheduler, queues := cfg.newScheduler()
		scheduler.Calls.EnterAlone()

		q := &retryQueue{queues: queues, h: &cfg.Handlers[0], Work: heldForAnHour()}
		q.suspect.Store(true)

		if next, err := (&queuedItem{queue: q, hash: store.HashOf("o")}).try(t.Context(), nil); err != nil || next.IsZero() {
			t.Errorf("%v, %v", next, err)
		}
	})
}
