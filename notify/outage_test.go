package notify_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/notify"
)

var flagOutage = flag.Duration("outage", 30*time.Minute, "how long the far side is down, in the time of the test")

// TestAnOutageLosesNothing: the far side is down while an order moves every minute, and two
// workers take turns. Everything arrives after the outage, once in effect, or is missed and
// sent on request.
func TestAnOutageLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far, began := h.endpoint("shop", func(s *notify.Settings) { s.Ordered = true }), time.Now()
		far.set(0, down)

		d := h.worker()
		stop := h.run(d)
		count := 0

		for time.Since(began) < *flagOutage {
			h.accept(d, notice(fmt.Sprint("o-", count/3), int64(count%3+2), "SHIPPED"))
			count++
			time.Sleep(time.Minute)

			if count%60 == 0 { // a deployment
				stop()
				d = h.worker()
				stop = h.run(d)
			}
		}
		far.set(0, nil)
		time.Sleep(*flagOutage + 45*time.Minute)
		synctest.Wait()

		if _, err := resendMissed(t, d, "shop", began, 10*count); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stop()

		if got := h.statuses(d); got["shop DELIVERED"] != count || far.effects() != count {
			t.Errorf("%d notifications: %v, %d effects", count, got, far.effects())
		}
	})
}
