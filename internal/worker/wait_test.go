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
