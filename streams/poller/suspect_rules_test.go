package poller

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

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
		if _, err := table.Park(ctx, hash, r, retryqueue.Row{NextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		tries := func(want int) retryqueue.Row {
			t.Helper()

			row, ok, err := table.First(ctx, "h", hash)
			if err != nil || !ok || row.Tries.Count != want {
				t.Fatalf("%+v, want %d; %t, %v", row.Tries, want, ok, err)
			}

			return row
		}

		begin := func(row retryqueue.Row, count int) {
			t.Helper()

			if begun, err := table.Begin(ctx, "h", row, retryqueue.TryCount{Count: count, By: "w"}); err != nil || !begun {
				t.Fatal(begun, err)
			}
		}
		begin(tries(0), lanes.MaxDeaths)

		if err := table.AddAgain(ctx, streams.Record{StreamARN: w.arn, SequenceNumber: "0", Handler: "h", Keys: keys}); err != nil {
			t.Fatal(err)
		}
		begin(tries(0), 1)

		if removed, err := table.Remove(ctx, "h", tries(1)); err != nil || !removed {
			t.Fatal(removed, err)
		}
		tries(lanes.MaxDeaths)
	})
}
