package poller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

// TestARedriveThatFailsAgainIsReportedOnce: although its error cannot be stored at first.
func TestARedriveThatFailsAgainIsReportedOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ids := w.storeLetters("o-0/1")
		transport, use := w.intercept()
		var reported atomic.Int32

		p := w.start(w.config(func(context.Context, streams.Record) error { return streams.Permanent(errOutage) }, short, use, func(c *Config) {
			c.Events.DeadLetter = func(streams.Record, int, error) { reported.Add(1) }
		}))
		lost := transport.Inject(embeddedtest.Answer("InternalServerError", "TransactWriteItems").Next(10))

		if err := w.queue().Redrive(t.Context(), "h", ids[0]); err != nil {
			t.Fatal(err)
		}
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if letter := w.deadLetters("h")[0]; letter.Redrives != 1 || reported.Load() != 1 || lost.Strikes() == 0 {
			t.Errorf("%d redrives, reported %d times after %d faults", letter.Redrives, reported.Load(), lost.Strikes())
		}
	})
}

// TestADeadLetterThatIsErasedDuringItsRedriveStaysErased: the handler has the record of before, and its error says so.
// The redrive is repeated with the record as it is then.
func TestADeadLetterThatIsErasedDuringItsRedriveStaysErased(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ids := w.storeLetters("o-0/1")
		letters := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		var calls atomic.Int32

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if calls.Add(1) > 1 {
				return streams.Permanent(errors.New("no name"))
			}

			err := letters.Rewrite(ctx, "h", ids[0], "erased", func(r *streams.Record) { r.New = nil })

			return streams.Permanent(errors.Join(errors.New("Ada"), err))
		}, short))

		if err := w.queue().Redrive(t.Context(), "h", ids[0]); err != nil {
			t.Fatal(err)
		}
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if letter := w.deadLetters("h")[0]; letter.Error != "no name" || letter.Redrives != 1 || letter.Record.New != nil {
			t.Errorf("%q after %d redrives, image %v", letter.Error, letter.Redrives, letter.Record.New)
		}
	})
}
