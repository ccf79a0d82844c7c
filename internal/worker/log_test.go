package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ratchet/internal/worker"
)

func TestARepeatedMessageIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var throttle worker.LogThrottle

		logged := 0
		for range 181 { // every second, from 0 s to 180 s
			if throttle.Allow() {
				logged++
			}

			worker.Wait(t.Context(), time.Second)
		}

		if logged != 4 {
			t.Errorf("logged %d times, want at 0 s, 60 s, 120 s and 180 s", logged)
		}
	})
}
