package notify_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/notify"
	"ratchet/workflow"
)

// TestAHangingEndpointGivesItsPlacesBack: it hangs with as many attempts as there are places. When it
// is known to be slow, another endpoint has all of them beside its own.
func TestAHangingEndpointGivesItsPlacesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("hangs", func(s *notify.Settings) { s.Filter.Events = []workflow.Event{workflow.Ship} }).set(time.Hour, nil)
		good := h.endpoint("good", func(s *notify.Settings) { s.Filter.Events = []workflow.Event{workflow.Deliver} })
		good.set(100*time.Millisecond, nil)

		const places = 4
		d := h.worker(func(c *notify.Config) { c.Places = places })
		defer h.run(d)()

		send := func(orders string, event workflow.Event) {
			var group sync.WaitGroup
			for i := range 2 * places {
				n := notice(fmt.Sprint(orders, i), 2, "SHIPPED")
				n.Event = event
				group.Go(func() { h.accept(d, n) })
			}
			group.Wait()
		}
		send("a-", workflow.Ship)
		send("b-", workflow.Deliver)
		time.Sleep(time.Second)
		synctest.Wait()

		if good.most != places+1 {
			t.Errorf("%d attempts at once beside an endpoint that hangs, want %d", good.most, places+1)
		}

		if got := h.statuses(d); got["good DELIVERED"] != 2*places {
			t.Errorf("%v", got)
		}
		time.Sleep(time.Minute) // every place is free again, and there are no more than before
		good.mu.Lock()
		good.most = 0
		good.mu.Unlock()
		send("c-", workflow.Deliver)
		time.Sleep(time.Second)
		synctest.Wait()

		if got := h.statuses(d); got["good DELIVERED"] != 4*places || good.most != places+1 {
			t.Errorf("%v, %d attempts at once", got, good.most)
		}
	})
}
