package poller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lambda"
)

var errCanceled = errors.New("the order is canceled")

func TestOnlyLateRecordsAreRechecked(t *testing.T) {
	for _, c := range []struct {
		name      string
		lateAfter time.Duration
		rechecks  int32
		result    error
		handled   int
	}{
		{name: "in time", lateAfter: time.Hour, rechecks: 0, result: streams.Skip(errCanceled), handled: 2},
		{name: "late and current", lateAfter: time.Nanosecond, rechecks: 2, handled: 2},
		{name: "late and skipped", lateAfter: time.Nanosecond, rechecks: 2, result: streams.Skip(errCanceled), handled: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				l := newRecorder()
				var rechecks atomic.Int32
				w.write("o-0", 1)
				w.write("o-0", 2)
				time.Sleep(time.Second)
				p := w.start(w.config(l.handle, func(cfg *Config) {
					cfg.lateAfter = c.lateAfter
					cfg.Handlers[0].Recheck = func(context.Context, streams.Record) error {
						rechecks.Add(1)
						return c.result
					}
				}))
				w.until("both are finished", func() bool { return w.lagOf(p) == 0 && w.leases()[0].Checkpoint != "" })
				w.stopped(p)

				if rechecks.Load() != c.rechecks || l.count() != c.handled {
					t.Errorf("%d rechecks, %d handled", rechecks.Load(), l.count())
				}

				if letters := w.deadLetters("h"); len(letters) != 0 {
					t.Errorf("dead letters %+v", letters)
				}
			})
		})
	}
}

func TestAWaitingRecordIsRechecked(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		var rechecked atomic.Bool
		p := w.start(w.config(func(context.Context, streams.Record) error { return errOutage }, patient, func(c *Config) {
			c.lateAfter = time.Hour
			c.Handlers[0].Recheck = func(_ context.Context, r streams.Record) error {
				rechecked.Store(r.Late && r.Attempt > 1)
				return streams.Skip(errCanceled)
			}
		}))
		w.write("o-0", 1)
		w.until("it has waited and is skipped", func() bool { return rechecked.Load() && len(w.waitingRows()) == 0 })
		w.stopped(p)
	})
}

func TestARedriveThatIsSkippedKeepsTheDeadLetter(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		id := w.storeDeadLetter()
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		h := streams.Handler{
			Name:    "h",
			Handle:  func(context.Context, streams.Record) error { t.Error("handled"); return nil },
			Recheck: func(context.Context, streams.Record) error { return streams.Skip(errCanceled) },
		}

		for range 2 { // the second one is not kept out by the first one's claim
			if err := dead.Redrive(t.Context(), id, h); !errors.Is(err, streams.ErrSkipped) || !errors.Is(err, errCanceled) {
				t.Errorf("redrive: %v", err)
			}
		}

		if l, err := dead.Get(t.Context(), "h", id); err != nil || l.Redrives != 0 || l.Error != "no" {
			t.Errorf("letter %+v, %v", l, err)
		}
	})
}

func TestALambdaSkipsAsThePollerDoes(t *testing.T) {
	l, err := lambda.New(lambda.Config{Handlers: []streams.Handler{{
		Name:    "h",
		Handle:  func(context.Context, streams.Record) error { t.Error("handled"); return nil },
		Recheck: func(context.Context, streams.Record) error { return streams.Skip(errCanceled) },
	}}})
	if err != nil {
		t.Fatal(err)
	}

	r := streams.Record{Keys: dynamo.Item{"id": dynamo.S("o")}, SequenceNumber: "1", CreatedAt: time.Now().Add(-time.Hour)}
	if err := l.HandleRecord(t.Context(), r); err != nil {
		t.Errorf("a skipped record failed: %v", err)
	}
}
