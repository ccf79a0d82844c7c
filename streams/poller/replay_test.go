package poller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
)

// short makes workers look at leases and queues often.
func short(c *Config) { c.LeaseDuration = 150 * time.Millisecond }

func (w *testEnv) queue() retryqueue.Queue {
	return retryqueue.Queue{DynamoDB: w.db, TableName: ordersTable, DeadLetterTable: deadTable, LeaseTable: leasesTable}
}

// replay returns a Replay for handler h.
func (w *testEnv) replay(edit ...func(*replay.Replay)) replay.Replay {
	r := replay.Replay{
		Queue:    w.queue(),
		Streams:  dynamodbstreams.NewFromConfig(w.engine.AWSConfig()),
		Handlers: []streams.Handler{{Name: "h"}},
	}
	for _, e := range edit {
		e(&r)
	}

	return r
}

func (w *testEnv) run(r replay.Replay) replay.Count {
	w.Helper()

	count, err := r.Run(w.Context())
	if err != nil {
		w.Fatal(err)
	}

	return count
}

// gotRecord is a record as a handler got it.
type gotRecord struct {
	id      string
	version int
	replay  *streams.Replayed
	late    bool
}

// replayLog records what a handler gets.
type replayLog struct {
	mu  sync.Mutex
	got []gotRecord
}

func (l *replayLog) handle(_ context.Context, r streams.Record) error {
	id, version := keyAndVersion(r)
	l.mu.Lock()
	defer l.mu.Unlock()

	l.got = append(l.got, gotRecord{id, version, r.Replay, r.Late})

	return nil
}

func (l *replayLog) all() []gotRecord {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.got)
}

// of returns the versions Of an item that came, marked with r if they were replayed.
func (l *replayLog) of(id string) (out []string) {
	for _, g := range l.all() {
		if g.id == id {
			mark := ""
			if g.replay != nil {
				mark = "r"
			}
			out = append(out, strconv.Itoa(g.version)+mark)
		}
	}

	return out
}

func TestAReplayDeliversFinishedRecordsAgainInOrder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}

		p := w.start(w.config(l.handle, short))
		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
			w.write("o-1", v)
		}
		w.roll()
		w.write("o-0", 4)
		w.until("all are handled and stored as such", func() bool {
			return len(l.all()) == 7 && slices.ContainsFunc(w.leases(), func(l leases.Lease) bool { return l.Checkpoint != "" && !l.Finished() })
		})

		dry := w.run(w.replay(func(r *replay.Replay) { r.DryRun = true }))
		if dry.Read != 7 || dry.Selected != 7 || dry.Queued["h"] != 7 || dry.Shards != 2 || dry.Oldest.IsZero() {
			t.Errorf("dry run %+v", dry)
		}

		count := w.run(w.replay(func(r *replay.Replay) {
			r.Again = "a1"
			r.Select = func(r streams.Record) bool { id, v := keyAndVersion(r); return id == "o-0" && v > 1 }
		}))
		if count.Read != 7 || count.Selected != 3 || count.Queued["h"] != 3 {
			t.Errorf("replayed %+v", count)
		}
		w.until("they are delivered", func() bool { return len(l.all()) == 10 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2 3 4 2r 3r 4r]" {
			t.Errorf("delivered %s", got)
		}

		for _, g := range l.all() {
			if g.replay != nil && (!g.late || g.replay.Again != "a1" || g.replay.Repaired) {
				t.Errorf("delivered %+v", g)
			}
		}

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestNewerRecordsWaitBehindReplayedOnes: several workers share the shards, and another worker than
// the replaying one mostly reads the item's shard.
func TestNewerRecordsWaitBehindReplayedOnes(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := &replayLog{}
		var gate atomic.Bool
		var busy sync.Map
		handle := func(ctx context.Context, r streams.Record) error {
			id, _ := keyAndVersion(r)
			if _, twice := busy.LoadOrStore(id, true); twice {
				t.Errorf("two handlers for %s at once", id)
			}
			defer busy.Delete(id)

			if r.Replay != nil && gate.Load() {
				return errOutage
			}

			return l.handle(ctx, r)
		}

		workers := []*runningPoller{w.start(w.config(handle, patient, short)), w.start(w.config(handle, patient, short))}
		w.until("each holds a shard", func() bool { return w.lagOf(workers[0]) == 0 && w.lagOf(workers[1]) == 0 })

		const items = 8
		w.writeVersions(items, 2)
		w.until("all are handled", func() bool { return len(l.all()) == 2*items })
		w.until("and stored as such", func() bool {
			return !slices.ContainsFunc(w.leases(), func(l leases.Lease) bool { return l.Checkpoint == "" })
		})
		worker.Wait(t.Context(), 50*time.Millisecond) // the newest checkpoints are stored every 20 ms
		gate.Store(true)

		if count := w.run(w.replay()); count.Queued["h"] != 2*items {
			t.Fatalf("replayed %+v", count)
		}
		w.until("every worker knows the items", func() bool {
			for _, p := range workers {
				if int64(p.scheduler.Waiting.Len()) != items {
					return false
				}
			}

			return true
		})

		w.writeVersion(items, 3)
		w.until("the new records wait as well", func() bool {
			records := 0
			for _, row := range w.waitingRows() {
				if !row.Again {
					records++
				}
			}

			return records == items
		})
		gate.Store(false)
		w.until("all are delivered", func() bool { return len(l.all()) == 5*items })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })

		for _, p := range workers {
			w.stopped(p)
		}

		for k := range items {
			if got := fmt.Sprint(l.of("o-" + strconv.Itoa(k))); got != "[1 2 1r 2r 3]" {
				t.Errorf("item %d: %s", k, got)
			}
		}
	})
}

// TestRecordsThatAreNotHandledYetAreNotReplayed: they will come in any case, and adding them
// must not make the worker believe that they were handled.
func TestRecordsThatAreNotHandledYetAreNotReplayed(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}
		p := w.start(w.config(l.handle, short))
		w.write("o-0", 1)
		w.until("it is handled", func() bool { return len(l.all()) == 1 && w.leases()[0].Checkpoint != "" })
		w.stopped(p)
		w.write("o-0", 2)

		if count := w.run(w.replay()); count.Read != 1 || count.Queued["h"] != 1 {
			t.Errorf("replayed %+v", count)
		}
		p = w.start(w.config(l.handle, short))
		w.until("all are delivered", func() bool { return len(l.all()) == 3 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 1r 2]" {
			t.Errorf("delivered %s", got)
		}
	})
}

// keepsLeases makes leases last on a machine with much to do, so that no record is repeated.
func keepsLeases(c *Config) { c.LeaseDuration = 10 * time.Second }

func TestAReplayTakesRecordsSinceATimeAndThoseThatTheHandlerAccepts(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}
		p := w.start(w.config(l.handle, keepsLeases))
		w.write("o-0", 1)
		w.write("o-1", 1)
		w.until("they are handled", func() bool { return len(l.all()) == 2 && w.leases()[0].Checkpoint != "" })
		worker.Wait(t.Context(), 50*time.Millisecond)
		w.stopped(p)

		if count := w.run(w.replay(func(r *replay.Replay) { r.Since = time.Now().Add(time.Hour) })); count.Selected != 0 || count.Read != 2 {
			t.Errorf("since a later time: %+v", count)
		}

		only := func(r streams.Record) bool { id, _ := keyAndVersion(r); return id == "o-1" }
		if count := w.run(w.replay(func(r *replay.Replay) { r.Handlers[0].Filter, r.DryRun = only, true })); count.Selected != 2 || count.Queued["h"] != 1 {
			t.Errorf("with a filter: %+v", count)
		}

		if rows := w.waitingRows(); len(rows) != 0 {
			t.Errorf("a dry run has queued %+v", rows)
		}
	})
}

// TestAReplayWaitsWhileManyItemsWait: the queue does not grow without a bound.
func TestAReplayWaitsWhileManyItemsWait(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := &replayLog{}

		p := w.start(w.config(l.handle, keepsLeases))
		w.writeVersion(4, 1)
		w.until("they are handled", func() bool { return len(l.all()) == 4 && w.leases()[0].Checkpoint != "" })
		worker.Wait(t.Context(), 50*time.Millisecond)
		w.stopped(p)
		w.run(w.replay())

		ctx, cancel := context.WithCancel(t.Context())
		waited := false
		r := w.replay(func(r *replay.Replay) {
			r.MaxWaiting = 4
			r.Progress = func(c replay.Count) {
				if c.Waiting {
					waited = true
					cancel()
				}
			}
		})

		if _, err := r.Run(ctx); err == nil || !waited {
			t.Errorf("waited %t: %v", waited, err)
		}

		for _, row := range w.waitingRows() {
			if !row.Again {
				t.Errorf("row %+v", row)
			}
		}
	})
}
