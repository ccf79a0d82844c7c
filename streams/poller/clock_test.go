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

// clockWorker starts a worker whose clock is ahead by offset, and returns its gaps when it is stopped.
func (w *testEnv) clockWorker(offset time.Duration, handle streams.HandlerFunc, edit ...func(*Config)) (p *runningPoller, stop func() []streams.Gap) {
	w.Helper()

	var mu sync.Mutex
	var gaps []streams.Gap
	clock := skewedClock{sim: &simulation{testEnv: w}, offset: offset}
	transport, throughTransport := w.intercept()
	transport.Around(clock.around)
	edit = append([]func(*Config){defaultTimes, throughTransport, func(c *Config) {
		c.Events.Gap = func(g streams.Gap) {
			mu.Lock()
			defer mu.Unlock()
			gaps = append(gaps, g)
		}
	}}, edit...)

	p = w.start(w.config(handle, edit...))

	return p, func() []streams.Gap {
		w.stopped(p)

		mu.Lock()
		defer mu.Unlock()

		return gaps
	}
}

// TestWrongClocksNeitherDelayNorLose hands a stream over between two workers whose clocks differ by two
// days. The second one reads a shard for the first time, and a record that waited.
func TestWrongClocksNeitherDelayNorLose(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"from ahead": 26 * time.Hour, "from behind": -26 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) { handOverBetweenClocks(t, ahead) })
		})
	}
}

func handOverBetweenClocks(t *testing.T, ahead time.Duration) {
	w := newTestEnv(t, 1)

	// The first worker fails for o-0, which then waits for half a minute.
	calls := make(chan streams.Record, 10)
	_, stop := w.clockWorker(ahead, func(_ context.Context, r streams.Record) error {
		calls <- r
		return errors.New("not now")
	}, func(c *Config) {
		c.parkAfter, c.Retry = time.Millisecond, streams.Retry{Base: 30 * time.Second, Max: time.Minute}
	})
	w.write("o-0", 1)
	epoch := (<-calls).Epoch + int64(ahead/time.Second)
	w.until("the record waits", func() bool { return len(w.waitingRows()) > 0 })

	if gaps := stop(); len(gaps) > 0 {
		t.Errorf("gaps %+v", gaps)
	}

	w.roll()
	w.write("o-0", 2)
	w.write("o-1", 1)
	w.write("o-2", 1)

	// The second one fails once more for o-0, and gives o-2 up.
	started := make(chan struct{})
	var p *runningPoller
	p, stop = w.clockWorker(-ahead, func(_ context.Context, r streams.Record) error {
		<-started

		for _, lag := range p.Lags() {
			if lag.Age > time.Minute {
				t.Errorf("%+v", lag)
			}
		}

		switch id, version := keyAndVersion(r); {
		case id == "o-2":
			return streams.Permanent(errors.New("never"))
		case id == "o-0" && version == 1 && r.Attempt == 2:
			return errors.New("once more")
		}
		calls <- r

		return nil
	}, func(c *Config) {
		c.Retry, c.Handlers[0].MaxAge = streams.Retry{Base: time.Second, For: time.Hour}, time.Hour
	})
	close(started)

	late := time.After(2 * time.Minute)

	for range 3 {
		var r streams.Record
		select {
		case r = <-calls:
		case <-late:
			t.Fatalf("not all records were handled in time; %d wait, dead letters %+v", len(w.waitingRows()), w.deadLetters("h"))
		}

		switch id, version := keyAndVersion(r); {
		case id == "o-1" && r.Late:
			t.Error("a record in time is called late")
		case id == "o-0" && r.Epoch-int64(ahead/time.Second) < epoch:
			t.Errorf("version %d has epoch %d after %d", version, r.Epoch-int64(ahead/time.Second), epoch)
		}
	}

	w.until("the dead letter is stored", func() bool { return len(w.deadLetters("h")) > 0 })

	if off := time.Until(w.deadLetters("h")[0].ExpiresAt) - deadLetterRetention; off.Abs() > 2*time.Minute {
		t.Errorf("the dead letter expires %v too late", off)
	}

	if gaps := stop(); len(gaps) > 0 {
		t.Errorf("gaps %+v", gaps)
	}
}

// TestTheEpochOfAChildIsAboveThatOfItsParent has a parent whose epoch is in the future, as a worker with
// a wrong clock stored it.
func TestTheEpochOfAChildIsAboveThatOfItsParent(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)

		epochs := make(chan int64, 10)
		cfg := w.config(func(_ context.Context, r streams.Record) error {
			epochs <- r.Epoch
			return nil
		})
		p := w.start(cfg)
		w.write("o-0", 1)
		<-epochs
		w.stopped(p)

		future := time.Now().Add(24 * time.Hour).Unix()

		update := w.table().Update(w.leases()[0].Shard).SetValue(leaseEpoch, dynamo.N(future))
		if _, _, err := store.Apply(t.Context(), w.db, update); err != nil {
			t.Fatal(err)
		}

		p = w.start(cfg)
		for version := 2; version <= 4; version++ {
			w.roll()
			w.write("o-0", version)

			if epoch := <-epochs; epoch <= future {
				t.Errorf("version %d has epoch %d, want one above %d", version, epoch, future)
			}
		}
		w.stopped(p)
	})
}
