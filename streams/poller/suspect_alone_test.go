package poller

import (
	"bytes"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// anyRecord is a sequence number after all records.
var anyRecord = strings.Repeat("9", 30)

// dieAt makes workers that do not give it up take a lease, so often that it is suspect, and the last
// one leave a note; nil for none.
func (w *testEnv) dieAt(table *leases.Table, shard string, note *leases.TryNote) {
	w.Helper()

	for i := range leases.SuspectAfter + 1 {
		stored, _, err := table.Read(w.Context())
		if err != nil {
			w.Fatal(err)
		}

		lease, ours, err := table.Take(w.Context(), leases.ByShard(stored)[shard], strconv.Itoa(i))
		if err != nil || !ours {
			w.Fatal(ours, err)
		}

		if i == leases.SuspectAfter && note != nil {
			if err := holders.Hold(table, lease, time.Now(), time.Minute).Write(w.Context(), leases.Progress{Trying: note}); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// TestNoCallRunsBesideOneThatIsTriedAlone: not of another shard, another handler, the retry queue or
// another poller of the process. Otherwise a record would be blamed for the death that another call has
// caused.
func TestNoCallRunsBesideOneThatIsTriedAlone(t *testing.T) {
	const items = 20

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 2)
		l := newRecorder()
		w.writeVersions(items, 1)

		p := w.start(w.config(l.handle, defaultTimes))
		sleepUntil(t, time.Minute, func() bool {
			return l.distinct() == items && w.leases()[0].Checkpoint != "" && w.leases()[1].Checkpoint != ""
		})
		w.stopped(p)

		suspect := w.leases()[0].Shard
		w.dieAt(w.table(), suspect, &leases.TryNote{UpTo: anyRecord})

		w.writeVersion(items, 2)

		// The calls of all handlers and pollers, including the queue's calls.
		var mu sync.Mutex
		running, beside, alone, ofOthers := 0, 0, 0, 0
		count := func(ctx context.Context, r streams.Record, takes time.Duration) {
			mu.Lock()
			running++
			before := running
			mu.Unlock()

			worker.Wait(ctx, takes)

			mu.Lock()
			defer mu.Unlock()

			switch {
			case r.Group != "":
				ofOthers++
			case r.ShardID != suspect || r.Late:
				beside = max(beside, before)
			case before != 1 || running != 1:
				t.Errorf("%d calls run when one is tried alone", running)
			default:
				alone++
			}
			running--
		}
		call := func(ctx context.Context, r streams.Record) error {
			count(ctx, r, 50*time.Millisecond)
			return l.handle(ctx, r)
		}
		failing := func(ctx context.Context, r streams.Record) error {
			if err := call(ctx, r); err != nil || !r.Late {
				return errOutage
			}

			return nil
		}

		process := &lanes.Gate{}
		other := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			count(ctx, r, time.Second)
			return nil
		}, defaultTimes, func(c *Config) { c.Group, c.calls, c.Concurrency = "other", process, 2 }))

		l = newRecorder()
		p = w.start(w.config(call, defaultTimes, func(c *Config) {
			c.calls = process
			c.Handlers = append(c.Handlers, streams.Handler{Name: "failing", Handle: failing})
			c.Retry, c.lateAfter = streams.Retry{Base: time.Second}, 10*time.Minute
		}))
		sleepUntil(t, 5*time.Minute, func() bool { return w.leases()[0].Owner == p.Owner() })
		w.writeVersion(items, 3) // also to the other shard, which has been read to its end
		sleepUntil(t, 5*time.Minute, func() bool { return l.distinct() == 2*items && w.lagOf(p) == 0 })
		w.stopped(p)
		w.stopped(other)

		if beside < 2 || alone == 0 || ofOthers < items {
			t.Errorf("%d calls were tried alone, up to %d others ran at once, and %d of another poller", alone, beside, ofOthers)
		}
	})
}

// TestARecordThatReturnedCountsNoDeathOfAnother: that its call has returned is stored before the next call begins, however
// long that takes. Otherwise it would count a death that another shard's record causes meanwhile.
func TestARecordThatReturnedCountsNoDeathOfAnother(t *testing.T) {
	const items = 10

	var mu sync.Mutex // the workers of both shards store notes

	var refusedSince time.Time
	for name, delay := range map[string]func() error{
		"slowly": func() error {
			time.Sleep(time.Second)
			return nil
		},
		"refused at first": func() error {
			mu.Lock()
			defer mu.Unlock()

			if refusedSince.IsZero() {
				refusedSince = time.Now()
			}

			if time.Since(refusedSince) < 3*time.Second {
				return awsError("ThrottlingException")
			}
			refusedSince = time.Time{}

			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 2)
				l := newRecorder()
				w.writeVersions(items, 1)

				p := w.start(w.config(l.handle, defaultTimes))
				sleepUntil(t, time.Minute, func() bool {
					return l.distinct() == items && w.leases()[0].Checkpoint != "" && w.leases()[1].Checkpoint != ""
				})
				w.stopped(p)

				for _, lease := range w.leases() {
					w.dieAt(w.table(), lease.Shard, &leases.TryNote{UpTo: anyRecord})
				}
				w.writeVersion(items, 2)

				transport, slowly := w.intercept()
				transport.Before(func(c *embeddedtest.Call) error {
					// A note without tries.
					if c.Is("UpdateItem") && bytes.Contains(c.Body(), []byte(`{"M":{}}`)) {
						return delay()
					}

					return nil
				})

				alone := map[string]int{}
				l = newRecorder()
				p = w.start(w.config(func(ctx context.Context, r streams.Record) error {
					tried := 0

					for _, lease := range w.leases() {
						if lease.Trying.IsTried() {
							tried++
						}
					}

					if alone[r.ShardID]++; tried != 1 { // no lock: the calls run one at a time
						t.Errorf("%d records are noted as tried during a call", tried)
					}

					return l.handle(ctx, r)
				}, defaultTimes, slowly))
				sleepUntil(t, 5*time.Minute, func() bool { return l.distinct() == items })
				w.stopped(p)

				if len(alone) != 2 {
					t.Errorf("calls were tried alone in %d shards", len(alone))
				}
			})
		})
	}
}

// TestAWaitingRecordThatReturnedCountsNoDeathOfAnother: as in the shards, although its end cannot be stored at first.
func TestAWaitingRecordThatReturnedCountsNoDeathOfAnother(t *testing.T) {
	const items = 4

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		queue := retryqueue.Queue{DynamoDB: w.db, TableName: ordersTable, LeaseTable: leasesTable}.Leases()
		if _, err := queue.Insert(t.Context(), leases.Lease{Shard: "h", Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		w.dieAt(queue, "h", nil)

		for i := range items {
			r := w.waitingVersion(1)
			r.Keys = dynamo.Item{"id": dynamo.S("o-" + strconv.Itoa(i))}
			hash := store.HashOf(store.ItemKey(r))

			if _, err := w.retries().Park(t.Context(), hash, r, retryqueue.Row{NextTry: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}

		for _, row := range w.waitingRows() {
			if begun, err := w.retries().Begin(t.Context(), "h", row, retryqueue.TryCount{Count: 1, By: "dead"}); err != nil || !begun {
				t.Fatal(begun, err)
			}
		}

		transport, use := w.intercept()
		ends := func(c *embeddedtest.Call) bool { return contains(c, retryTriedBy) && !contains(c, "SET") }
		transport.Inject(embeddedtest.Throttle("UpdateItem").If(ends).Next(items * 5))

		l := newRecorder()
		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			tried := 0

			for _, row := range w.waitingRows() {
				if row.Tries.Count > 0 && row.Tries.By != "dead" {
					tried++
				}
			}

			if tried != 1 {
				t.Errorf("%d records are noted as tried during a call", tried)
			}
			_ = l.handle(ctx, r)

			return streams.NotYet(errOutage)
		}, defaultTimes, use))
		sleepUntil(t, 5*time.Minute, func() bool { return l.distinct() == items && l.count() > 3*items })
		w.stopped(p)
	})
}

// TestPollersOfAProcessShareTheirCalls: any of their calls can end it.
func TestPollersOfAProcessShareTheirCalls(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ofProcess := func(c *Config) { c.calls = nil } // as outside of these tests

		var gates []*lanes.Gate
		for _, group := range []string{"", "other"} {
			p, err := New(w.config(newRecorder().handle, ofProcess, func(c *Config) { c.Group = group }))
			if err != nil {
				t.Fatal(err)
			}
			gates = append(gates, p.scheduler.Cfg.Calls)
		}

		if gates[0] != gates[1] {
			t.Error("two pollers of a process do not share their calls")
		}
	})
}

// TestASlowHandlerOfASuspectShardIsCalledForManyAtOnce: until it is known which of them ends workers,
// the records of a batch are handled beside each other.
func TestASlowHandlerOfASuspectShardIsCalledForManyAtOnce(t *testing.T) {
	const items = 320

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		w.write("o-0", 1)
		w.handleAll(l, 1)
		w.dieAt(w.table(), w.leases()[0].Shard, nil)

		w.writeVersion(items, 2)

		slow := func(ctx context.Context, r streams.Record) error {
			worker.Wait(ctx, time.Second)
			return l.handle(ctx, r)
		}
		p := w.start(w.config(slow, defaultTimes))
		sleepUntil(t, 5*time.Minute, func() bool { return l.distinct() > 1 })

		if took := sleepUntil(t, time.Minute, func() bool { return l.distinct() == items+1 }); took > 15*time.Second {
			t.Errorf("%d records took %v", items, took)
		}
		w.stopped(p)
	})
}

// TestAnswersThatAreLostAreNoTries: a worker that cannot store that a call begins does not make the call.
// A worker that cannot store that its call has returned still lives. Neither is blamed on the record.
func TestAnswersThatAreLostAreNoTries(t *testing.T) {
	t.Parallel()

	const calls, most = lanes.MaxDeaths + 3, 20

	begins := func(c *embeddedtest.Call) bool { return contains(c, retryTriedBy) && !contains(c, "REMOVE") }
	ends := func(c *embeddedtest.Call) bool { return contains(c, retryTriedBy) && !contains(c, "SET") }

	dir := t.TempDir()
	for _, test := range []struct {
		name  string
		fault embeddedtest.Fault
	}{
		{"of the begin", embeddedtest.LoseAnswer("UpdateItem").If(begins).Next(most)},
		{"of the end", embeddedtest.LoseRequest("UpdateItem").If(ends)},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newTestEnv(t, 1, func(c *embedded.Config) { c.Dir = filepath.Join(dir, test.name) })
			queue := retryqueue.Queue{DynamoDB: w.db, TableName: ordersTable, LeaseTable: leasesTable}.Leases()
			if _, err := queue.Insert(t.Context(), leases.Lease{Shard: "h", Epoch: 1}); err != nil {
				t.Fatal(err)
			}
			w.dieAt(queue, "h", nil)
			w.storeVersions(1)

			transport, throughTransport := w.intercept()
			transport.Inject(test.fault)

			var sent, stored atomic.Int32
			transport.Before(func(c *embeddedtest.Call) error {
				if begins(c) {
					sent.Add(1)
				}

				return nil
			})
			transport.After(func(c *embeddedtest.Call) error {
				if begins(c) && (test.name != "of the begin" || sent.Load() > most) {
					stored.Add(1)
				}

				return nil
			})

			l := newRecorder()
			handle := func(ctx context.Context, r streams.Record) error {
				if int(stored.Load()) <= l.count() {
					t.Errorf("%s: call %d was not stored", test.name, l.count()+1)
				}

				if err := l.handle(ctx, r); err != nil || l.count() < calls {
					return streams.NotYet(errOutage)
				}

				return nil
			}
			p := w.start(w.config(handle, defaultTimes, throughTransport))
			sleepUntil(t, 20*time.Minute, func() bool { return len(w.waitingRows()) == 0 })
			w.stopped(p)

			if letters := w.deadLetters("h"); len(letters) > 0 || l.count() != calls {
				t.Errorf("%s: %d calls, dead letters %+v", test.name, l.count(), letters)
			}
		})
	}
}

// TestATryThatWasNotStoredIsTakenBack: the answer is lost, so the lease may have it. No call was made,
// and the next worker must not believe that a call has ended this worker.
func TestATryThatWasNotStoredIsTakenBack(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		w.write("o-0", 1)
		w.handleAll(l, 1)
		w.dieAt(w.table(), w.leases()[0].Shard, &leases.TryNote{UpTo: anyRecord})
		w.write("o-0", 2)

		begins := func(c *embeddedtest.Call) bool { return contains(c, `"`+leaseTrying+`"`) && contains(c, `"h":`) }
		var lost atomic.Int32
		transport, throughTransport := w.intercept()
		transport.Inject(embeddedtest.LoseAnswer("UpdateItem").If(func(c *embeddedtest.Call) bool {
			if !begins(c) {
				return false
			}
			lost.Add(1)

			return true
		}))

		called := newRecorder()
		p := w.start(w.config(called.handle, throughTransport, func(c *Config) { c.Retry = streams.Retry{Base: 50 * time.Millisecond} }))
		w.until("the begin of a call was lost", func() bool { return lost.Load() > 0 })
		w.until("it is taken back", func() bool {
			lease := w.leases()[0]
			return lost.Load() > 2 && !lease.Trying.IsTried() && lease.Trying != nil
		})
		w.stopped(p)

		if called.count() > 0 {
			t.Error("a call was made that was not stored")
		}
	})
}

// TestANoteWhoseAnswerWasLostIsRemoved: the worker does not know that the lease has it.
func TestANoteWhoseAnswerWasLostIsRemoved(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.write("o-0", 1)
		w.handleAll(newRecorder(), 1)

		transport, throughTransport := w.intercept()
		transport.Inject(embeddedtest.LoseAnswer("UpdateItem").If(func(c *embeddedtest.Call) bool { return contains(c, anyRecord) }))

		table := w.table()
		table.API = w.config(nil, throughTransport).DynamoDB

		lease, ours, err := table.Take(t.Context(), w.leases()[0], "w")
		if err != nil || !ours {
			t.Fatal(ours, err)
		}
		held := holders.Hold(table, lease, time.Now(), time.Minute)

		if err := held.Write(t.Context(), leases.Progress{Trying: &leases.TryNote{UpTo: anyRecord}}); err == nil || w.leases()[0].Trying == nil {
			t.Fatalf("the answer was not lost: %v", err)
		}

		if err := held.Write(t.Context(), leases.Progress{}); err != nil || w.leases()[0].Trying != nil {
			t.Errorf("%+v, %v", w.leases()[0].Trying, err)
		}
	})
}
