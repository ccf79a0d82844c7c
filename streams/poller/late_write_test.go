package poller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// lateWrites holds up the first call of a worker that the condition accepts, and cuts the worker off
// from then on: what it sends arrives after another worker has taken its leases.
type lateWrites struct {
	is      func(*embeddedtest.Call) bool
	cut     atomic.Bool
	release chan struct{}
	late    sync.WaitGroup
}

func (w *testEnv) lateWrites(is func(*embeddedtest.Call) bool) (*lateWrites, func(*Config)) {
	l := &lateWrites{is: is, release: make(chan struct{})}
	transport, use := w.intercept()
	transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.Body() // before the call ends

		if l.is(c) && l.cut.CompareAndSwap(false, true) {
			c.Request = c.Request.Clone(context.Background())
			l.late.Go(func() {
				<-l.release

				if response, err := send(); err == nil {
					_ = response.Body.Close()
				}
			})
		}

		if l.cut.Load() {
			return nil, awsError("InternalServerError")
		}

		return send()
	})

	return l, use
}

// arrive lets the write arrive.
func (l *lateWrites) arrive() {
	close(l.release)
	l.late.Wait()
}

// ofTheQueue accepts the write of an item's row.
func ofTheQueue(operation string) func(*embeddedtest.Call) bool {
	return func(c *embeddedtest.Call) bool {
		return c.Is(operation) && contains(c, `"`+deadTable+`"`) && contains(c, retryRowPrefix)
	}
}

func alwaysFails(context.Context, streams.Record) error { return errOutage }

// TestALateParkDeliversNothingAgain: by the time it arrives, the next worker has handled the record
// and a newer one.
func TestALateParkDeliversNothingAgain(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		late, use := w.lateWrites(ofTheQueue("PutItem"))
		a := w.start(w.config(alwaysFails, patient, use))
		w.write("o-0", 1)
		w.until("it parks", late.cut.Load)

		l := newRecorder()
		b := w.start(w.config(l.handle, patient))
		w.write("o-0", 2)
		w.until("the other worker has handled both", func() bool { return l.count() == 2 })
		late.arrive()
		w.until("the row is gone", func() bool { return len(w.waitingRows()) == 0 })
		w.write("o-0", 3)
		w.until("the newest is handled", func() bool { return l.count() >= 3 })
		time.Sleep(10 * time.Second)
		w.stopped(b)
		_ = a.stop()

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2 3]" {
			t.Errorf("handled %s", got)
		}

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows left", n)
		}
	})
}

// TestALateParkIsAdopted: the next worker fails for the record, too, and finds it in the queue.
func TestALateParkIsAdopted(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		late, use := w.lateWrites(ofTheQueue("PutItem"))
		a := w.start(w.config(alwaysFails, patient, use))
		w.write("o-0", 1)
		w.until("it parks", late.cut.Load)

		l := newRecorder()
		var arrived, down atomic.Bool
		down.Store(true)
		b := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			switch {
			case !arrived.Swap(true):
				late.arrive()
				return errOutage
			case down.Load():
				return errOutage
			}

			return l.handle(ctx, r)
		}, patient))
		w.until("it is in the queue and the checkpoint has passed it", func() bool {
			return len(w.waitingRows()) == 1 && w.leases()[0].Checkpoint != ""
		})
		w.write("o-0", 2)
		time.Sleep(5 * time.Second)
		down.Store(false)
		w.until("both are handled", func() bool { return l.count() >= 2 })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(b)
		_ = a.stop()

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2]" {
			t.Errorf("handled %s", got)
		}

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows left", n)
		}
	})
}

// TestALateDeadLetterIsRefused: the next worker has handled the record.
func TestALateDeadLetterIsRefused(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		late, use := w.lateWrites(func(c *embeddedtest.Call) bool {
			return contains(c, `"`+deadTable+`"`) && contains(c, deadLetterPermanent)
		})
		a := w.start(w.config(func(context.Context, streams.Record) error { return streams.Permanent(errOutage) }, use))
		w.write("o-0", 1)
		w.until("it gives up", late.cut.Load)

		l := newRecorder()
		b := w.start(w.config(l.handle))
		w.until("the other worker has handled it", func() bool { return l.count() == 1 })
		late.arrive()
		w.stopped(b)
		_ = a.stop()

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}

// TestALateRemovalFromTheQueueIsRefused: the next holder of the queue calls the handler for the same
// record; while it does, no newer record of the item may be handled.
func TestALateRemovalFromTheQueueIsRefused(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		late, use := w.lateWrites(ofTheQueue("DeleteItem"))
		var up atomic.Bool
		a := w.start(w.config(func(context.Context, streams.Record) error {
			if !up.Load() {
				return errOutage
			}

			return nil
		}, patient, use))
		w.write("o-0", 1)
		w.until("the checkpoint has passed it", func() bool { ls := w.leases(); return len(ls) == 1 && ls[0].Checkpoint != "" })
		up.Store(true)
		w.until("it removes the record", late.cut.Load)

		var running atomic.Int32
		l := newRecorder()
		b := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if running.Add(1) > 1 {
				t.Error("two calls at once")
			}
			defer running.Add(-1)

			if _, v := keyAndVersion(r); v == 1 {
				late.arrive()
				w.write("o-0", 2)
				time.Sleep(time.Second)
			}

			return l.handle(ctx, r)
		}, patient))
		w.until("both are handled", func() bool { return l.count() == 2 })
		w.stopped(b)
		_ = a.stop()
	})
}

// TestARecordWhoseRowMayArriveIsHandledFromTheQueue: the record waited behind an older one of its item, and all tries
// to store it had no answer. By the time that the older one is handled, one of the tries may still arrive: a call of
// the handler past the queue would be repeated then, after newer records; and so would a row under another key of the
// queue.
func TestARecordWhoseRowMayArriveIsHandledFromTheQueue(t *testing.T) {
	for about, share := range map[string]int{"one key": 0, "the first key is full": 1} {
		t.Run(about, func(t *testing.T) {
			virtually(t, func(t *testing.T) { rowThatMayArrive(t, share) })
		})
	}
}

func rowThatMayArrive(t *testing.T, share int) {
	t.Helper()

	w := newTestEnv(t, 1)
	keys := dynamo.Item{"id": dynamo.S("o-0"), "part": dynamo.S("-")}
	ofFirst := store.HashOf(store.ItemKey(streams.Record{Keys: keys})).Text()
	transport, use := w.intercept()
	stores, removes := ofTheQueue("PutItem"), ofTheQueue("DeleteItem")
	release := make(chan struct{})

	var (
		late             sync.WaitGroup
		cut, held, first atomic.Bool // the second record's writes, one of them, the first record's row is gone
	)
	transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.Body() // before the call ends

		switch {
		case stores(c) && contains(c, ofFirst) && cut.Load() && !first.Load():
			if held.CompareAndSwap(false, true) {
				c.Request = c.Request.Clone(context.Background())
				late.Go(func() {
					<-release

					if response, err := send(); err == nil {
						_ = response.Body.Close()
					}
				})
			}

			return nil, awsError("InternalServerError")
		case removes(c) && contains(c, ofFirst):
			defer first.Store(true)
		}

		return send()
	})

	l := newRecorder()

	var up atomic.Bool
	p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
		if !up.Load() {
			return errOutage
		}

		return l.handle(ctx, r)
	}, patient, use, func(c *Config) { c.queueShare = share }))
	w.write("o-0", 1)
	w.until("the first is in the queue", func() bool { return len(w.waitingRows()) == 1 })

	others := 0
	for share > 0 && w.furtherRows() == 0 {
		others++
		w.write("x-"+strconv.Itoa(others), 1)
		w.until("another item waits, too", func() bool { return len(w.waitingRows()) == 1+others })
	}
	cut.Store(true)
	w.write("o-0", 2)
	w.until("the second is not stored", held.Load)
	up.Store(true)
	w.until("both are handled", func() bool { return len(l.of("o-0")) >= 2 })
	w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
	w.write("o-0", 3)
	w.until("the third is handled", func() bool { return len(l.of("o-0")) >= 3 })
	close(release)
	late.Wait()
	time.Sleep(time.Minute)
	w.stopped(p)

	if got := fmt.Sprint(l.of("o-0")); got != "[1 2 3]" {
		t.Errorf("handled %s", got)
	}
}

// TestARowSaysThatAnEarlierWriteMayArrive: all tries to store it had no answer, and each may arrive after the row was
// handled. So the row that is stored later says so, whichever call has stored it.
func TestARowSaysThatAnEarlierWriteMayArrive(t *testing.T) {
	for about, row := range map[string]struct {
		lost int
		want bool
	}{
		"no write was lost":                  {},
		"each try of the first call is lost": {lost: 3, want: true},
	} {
		t.Run(about, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				transport, use := w.intercept()
				lost := transport.Inject(embeddedtest.LoseRequest("PutItem").If(ofTheQueue("PutItem")).Next(row.lost))

				if row.lost == 0 {
					lost.Remove()
				}
				p := w.start(w.config(alwaysFails, patient, use))
				w.write("o-0", 1)

				var stored []dynamo.Item
				w.until("it has parked", func() bool {
					stored = slices.DeleteFunc(w.deadRows(), func(row dynamo.Item) bool {
						return !strings.HasPrefix(dynamo.Text(row, store.ID), retryRowPrefix)
					})

					return len(stored) > 0
				})

				if got := dynamo.Flag(stored[0], "unsure"); got != row.want {
					t.Errorf("unsure: %t, want %t", got, row.want)
				}
				w.stopped(p)
			})
		})
	}
}
