package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ratchet/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
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
