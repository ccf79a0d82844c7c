package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/internal/worker"
)

func TestDelayDoublesUpToTheMaximumAndVaries(t *testing.T) {
	b := worker.Backoff{Base: 100 * time.Millisecond, Max: time.Second}

	for _, row := range []struct {
		failure int
		limit   time.Duration
	}{
		{failure: -1, limit: 100 * time.Millisecond},
		{failure: 1, limit: 100 * time.Millisecond},
		{failure: 2, limit: 200 * time.Millisecond},
		{failure: 4, limit: 800 * time.Millisecond},
		{failure: 5, limit: time.Second},
		{failure: math.MaxInt, limit: time.Second},
	} {
		least, most := b.Max, time.Duration(0)
		for range 1000 {
			d := b.Delay(row.failure)
			least, most = min(least, d), max(most, d)
		}

		if least < row.limit/2 || most > row.limit {
			t.Errorf("failure %d: between %v and %v, want between %v and %v", row.failure, least, most, row.limit/2, row.limit)
		}

		if most-least < row.limit/4 {
			t.Errorf("failure %d: between %v and %v: hardly any jitter", row.failure, least, most)
		}
	}
}

func TestBackoffWaitsItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := worker.Backoff{Base: time.Second, Max: time.Minute}

		began := time.Now()
		if !b.Wait(t.Context(), 3) || time.Since(began) < 2*time.Second || time.Since(began) > 4*time.Second {
			t.Errorf("after %v", time.Since(began))
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()

		if b.Wait(ctx, 3) {
			t.Error("waited although the context had ended")
		}
	})
}

func TestRetryRepeatsUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		began := time.Now()

		err := worker.Retry(t.Context(), worker.Backoff{Base: time.Second, Max: time.Hour}, 0, func() error {
			if calls++; calls < 4 {
				return errWork
			}

			return nil
		})
		if err != nil || calls != 4 {
			t.Errorf("after %d calls: %v", calls, err)
		}

		if took := time.Since(began); took < 3500*time.Millisecond || took > 7*time.Second {
			t.Errorf("three waits took %v, want half to all of 1 s + 2 s + 4 s", took)
		}
	})
}

func TestRetryStops(t *testing.T) {
	policy := worker.Backoff{Base: time.Second, Max: time.Second}

	t.Run("at the last try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0

			err := worker.Retry(t.Context(), policy, 3, func() error { calls++; return errWork })
			if !errors.Is(err, errWork) || calls != 3 {
				t.Errorf("after %d calls: %v", calls, err)
			}
		})
	})

	t.Run("at a permanent error, which keeps what it is wrapped in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0

			err := worker.Retry(t.Context(), policy, 0, func() error {
				calls++

				return fmt.Errorf("step 2: %w", worker.Permanent(errWork))
			})
			if err == nil || err.Error() != "step 2: work failed" || calls != 1 {
				t.Errorf("after %d calls: %v", calls, err)
			}
		})
	})

	t.Run("with its context, and names the cause and the last error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			errStop := errors.New("stopped")

			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errStop)
			defer cancel()

			// Longer than the 15 minutes after which the library gives up by default.
			began := time.Now()

			err := worker.Retry(ctx, policy, 0, func() error { return errWork })
			if !errors.Is(err, errStop) || !errors.Is(err, errWork) || time.Since(began) != time.Hour {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		})
	})
}
