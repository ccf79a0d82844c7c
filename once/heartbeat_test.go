package once_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// beating returns a world whose claims have a heartbeat. It runs in a synctest bubble.
func beating(t *testing.T) *world {
	w := newWorld(t, func(c *once.Config) { c.Heartbeat, c.Now = true, time.Now })
	w.service.clock = nil
	return w
}

func TestDoneWorkIsCompletedIfAnOutageEndsWithinTheExtendedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		runs := 0

		do := func() ([]byte, bool, error) {
			return w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) {
				runs++
				time.Sleep(90 * time.Second) // beyond the first lease, which is a minute
				began := time.Now()
				w.transport.Inject(embeddedtest.LoseRequest().With(errOutage).If(func(*embeddedtest.Call) bool {
					return time.Since(began) < 10*time.Second
				}))

				return []byte("done"), nil
			})
		}
		if got, replayed, err := do(); string(got) != "done" || replayed || err != nil {
			t.Errorf("%q %t %v", got, replayed, err)
		}

		if got, replayed, err := do(); string(got) != "done" || !replayed || err != nil || runs != 1 {
			t.Errorf("again: %q %t %v, %d runs", got, replayed, err, runs)
		}
	})
}

func TestAnExtensionByTheWorkItselfCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *once.Config) { c.Now = time.Now })
		w.service.clock = nil

		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			time.Sleep(40 * time.Second)
			err := c.Extend(ctx)
			time.Sleep(40 * time.Second)
			w.transport.Inject(embeddedtest.LoseRequest().With(errOutage).Next(4))

			return nil, err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAHeartbeatEndsWithAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		var work context.Context
		func() {
			defer func() { _ = recover() }()
			_, _, _ = w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				work = ctx
				panic("broken")
			})
		}()

		if work.Err() == nil {
			t.Error("the work's context must end")
		}
		w.calls()
		time.Sleep(time.Hour)

		if sent := w.calls(); len(sent) > 0 {
			t.Errorf("the heartbeat must end: %v", sent)
		}
	})
}

func TestAnOutageLongerThanTheLeaseIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			time.Sleep(90 * time.Second)
			w.outage()
			<-ctx.Done()
			return []byte("done"), context.Cause(ctx)
		})
		if !errors.Is(err, once.ErrLeaseExpired) || !errors.Is(err, errOutage) {
			t.Errorf("%v", err)
		}
	})
}
