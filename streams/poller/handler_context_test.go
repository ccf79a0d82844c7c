package poller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// TestAnEffectThatKeepsTheHighestEpochRefusesAWorkerThatLostItsLease: the first worker's call
// is still under way when the second one has handled the item's next record.
func TestAnEffectThatKeepsTheHighestEpochRefusesAWorkerThatLostItsLease(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		effect := func(ctx context.Context, r streams.Record) (bool, error) {
			_, version := keyAndVersion(r)
			update := dynamo.NewUpdate(deadTable, store.RowKey("effect", "o-0")).
				If("attribute_not_exists(#epoch) OR #epoch <= :epoch").
				Bind(":epoch", dynamo.N(r.Epoch)).
				Set("#epoch = :epoch").
				SetValue("version", dynamo.N(int64(version)))
			_, applied, err := store.Apply(ctx, w.db, update)

			return applied, err
		}

		begun, zombie := make(chan streams.Record, 1), make(chan struct{})
		var once sync.Once
		slow := func(_ context.Context, r streams.Record) error {
			once.Do(func() { begun <- r })
			<-zombie // without regard to its context

			return nil
		}
		first := w.start(w.config(slow, short, func(c *Config) { c.DrainTimeout = time.Millisecond }))
		w.write("o-0", 1)
		old := <-begun
		lease := w.leases()[0]

		// Another worker takes the lease.
		if _, ours, err := w.table().Take(t.Context(), lease, "other"); err != nil || !ours {
			lease = w.leases()[0] // it was renewed meanwhile
			if _, ours, err = w.table().Take(t.Context(), lease, "other"); err != nil || !ours {
				t.Fatal(ours, err)
			}
		}

		l := newRecorder()
		second := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			if r.Epoch <= old.Epoch {
				t.Errorf("epoch %d after %d", r.Epoch, old.Epoch)
			}

			if applied, err := effect(ctx, r); err != nil || !applied {
				return errors.Join(err, errOutage)
			}

			return l.handle(ctx, r)
		}, short))
		w.write("o-0", 2)
		w.until("the second worker has handled both", func() bool { return l.distinct() == 2 })

		if applied, err := effect(t.Context(), old); err != nil || applied {
			t.Errorf("the late write of the first worker: applied %t, %v", applied, err)
		}
		close(zombie)
		w.stopped(first)
		w.stopped(second)
	})
}

// TestACallThatAStopEndsIsNoAttempt: the next worker repeats it as the first attempt.
func TestACallThatAStopEndsIsNoAttempt(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		begun := make(chan struct{}, 1)
		p := w.start(w.config(func(ctx context.Context, _ streams.Record) error {
			begun <- struct{}{}
			<-ctx.Done()

			if cause := context.Cause(ctx); !errors.Is(cause, streams.ErrStopped) {
				t.Errorf("cause %v, want ErrStopped", cause)
			}

			return ctx.Err()
		}, func(c *Config) { c.DrainTimeout = time.Millisecond; c.Retry.Attempts = 1 }))
		w.write("o-0", 1)
		<-begun
		w.stopped(p)

		attempts := make(chan int, 1)
		p = w.start(w.config(func(_ context.Context, r streams.Record) error { attempts <- r.Attempt; return nil }))

		if n := <-attempts; n != 1 {
			t.Errorf("attempt %d, want 1", n)
		}
		w.stopped(p)

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("dead letters %+v", letters)
		}
	})
}
