package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/internal/worker"
)

func TestWaitEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !worker.Wait(t.Context(), time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("after %s", time.Since(began))
		}

		for range 100 {
			began = time.Now()
			if !worker.WaitJitter(t.Context(), time.Second) || time.Since(began) >= time.Second {
				t.Errorf("after %s", time.Since(began))
			}
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		began = time.Now()
		if worker.Wait(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("cut short after %s", time.Since(began))
		}
	})
}

func TestWaitRetryGrowsUpToItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			attempt int
			limit   time.Duration
		}{
			{attempt: 0, limit: 5 * time.Second},
			{attempt: 1, limit: 10 * time.Second},
			{attempt: 3, limit: 40 * time.Second},
			{attempt: 4, limit: time.Minute},
			{attempt: 1_000, limit: time.Minute},
		} {
			var longest time.Duration
			for range 200 {
				began := time.Now()

				if !worker.WaitRetry(t.Context(), row.attempt, 5*time.Second, time.Minute) {
					t.Fatalf("attempt %d: the wait was cut short", row.attempt)
				}
				longest = max(longest, time.Since(began))
			}

			// 200 draws that are all below half of the limit happen once in 2^200.
			if longest >= row.limit || longest < row.limit/2 {
				t.Errorf("attempt %d: the longest wait is %s, want one below %s and above its half", row.attempt, longest, row.limit)
			}
		}
	})
}

func TestWaitClosedEndsWithTheChannelOrItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(done) })

		began := time.Now()
		if worker.WaitClosed(done, time.Second) || time.Since(began) != time.Second {
			t.Errorf("an open channel: after %s", time.Since(began))
		}

		if !worker.WaitClosed(done, time.Minute) || time.Since(began) != 3*time.Second {
			t.Errorf("a channel that is closed meanwhile: after %s", time.Since(began))
		}
	})
}
