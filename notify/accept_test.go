package notify_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
)

func ordered(s *notify.Settings) { s.Ordered = true }

// failsAt2 fails with transition 2, and takes everything else.
func failsAt2(m notify.Message) (notify.Answer, error) {
	if m.TransitionID == 2 {
		return down(m)
	}

	return notify.Answer{Status: 200}, nil
}

// TestOnlyAnEarlierOneOfItsOrderHoldsANotificationUp: an earlier notification that is still under way
// at this endpoint, if the endpoint wants them in order.
func TestOnlyAnEarlierOneOfItsOrderHoldsANotificationUp(t *testing.T) {
	again := notice("o-1", 2, "SHIPPED")
	again.Key += "/again-a1"

	for name, test := range map[string]struct {
		settings func(*notify.Settings)
		answer   func(notify.Message) (notify.Answer, error)
		then     notify.Notification
		held     bool
	}{
		"under way":           {ordered, failsAt2, notice("o-1", 3, "DELIVERED"), true},
		"it has ended":        {ordered, nil, notice("o-1", 3, "DELIVERED"), false},
		"without an order":    {func(*notify.Settings) {}, failsAt2, notice("o-1", 3, "DELIVERED"), false},
		"another order":       {ordered, failsAt2, notice("o-2", 3, "DELIVERED"), false},
		"an earlier one":      {ordered, failsAt2, notice("o-1", 1, "PENDING"), false},
		"the same transition": {ordered, failsAt2, again, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newDeliveryHarness(t)
			h.endpoint("a", test.settings) // which is asked first, and takes everything
			far := h.endpoint("b", test.settings)
			far.set(0, test.answer)
			d := h.worker()
			defer h.run(d)()
			h.accept(d, notice("o-1", 2, "SHIPPED"), test.then)

			if held := !slices.Contains(far.keys(), test.then.Key); held != test.held {
				t.Errorf("%s: held up %t, arrived %v", name, held, far.keys())
			}

			if !slices.Contains(h.at("a").keys(), test.then.Key) {
				t.Errorf("%s: another endpoint is held up", name)
			}
		})
	}
}

// TestAnAttemptThatIsUnderWayIsNobodyElses: no other worker repeats it until the attempt and its
// writes must have ended, whether it began before or after its record was stored.
func TestAnAttemptThatIsUnderWayIsNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(3*time.Second, nil)
		d := h.worker(func(c *notify.Config) { c.Timeout, c.DrainTimeout = 20*time.Second, 5*time.Second })
		defer h.run(d)()

		for i := range 2 {
			order := fmt.Sprint("o-", i)
			h.accept(d, notice(order, 2, "SHIPPED"))

			got := h.get(d, order+"/0/2/shop")
			if lease := time.Until(got.NextTry); got.Status != notify.Pending || got.Attempts != 1 || lease.Round(time.Second) != 45*time.Second {
				t.Errorf("%s: %+v, taken for %v", order, got, lease)
			}
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 2 {
			t.Errorf("%v", got)
		}
	})
}

// TestAnAttemptOfASlowEndpointThatCannotBeStoredIsNotMade, and holds no place.
func TestAnAttemptOfASlowEndpointThatCannotBeStoredIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Concurrency = 1 })
		far.set(3*time.Second, nil)
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-0", 2, "SHIPPED")) // it is slow
		time.Sleep(4 * time.Second)
		synctest.Wait()

		h.transport.Inject(embeddedtest.LoseRequest("PutItem").Next(1))

		if err := d.Accept(t.Context(), notice("o-1", 2, "SHIPPED")); err == nil {
			t.Error("Accept has stored nothing and returns nil")
		}
		time.Sleep(time.Second)
		synctest.Wait()

		if n := len(far.keys()); n != 1 {
			t.Errorf("%d attempts", n)
		}

		// Another worker has stored it: this one makes no attempt.
		idle := h.worker()
		h.transport.Before(func(c *embeddedtest.Call) error {
			if c.Operation == "PutItem" {
				h.transport.Clear()
				h.accept(idle, notice("o-2", 2, "SHIPPED"))
			}

			return nil
		})
		h.accept(d, notice("o-2", 2, "SHIPPED"))
		h.accept(d, notice("o-3", 2, "SHIPPED"))
		synctest.Wait()

		if got := far.keys(); len(got) != 2 || got[1] != "o-3/0/2/notify" {
			t.Errorf("arrived %v", got)
		}
	})
}

// TestAFirstAttemptThatTheEndCutsShortIsHandedOverAgain.
func TestAFirstAttemptThatTheEndCutsShortIsHandedOverAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(time.Hour, nil)
		d := h.worker(func(c *notify.Config) { c.DrainTimeout = time.Millisecond })
		stop := h.run(d)
		accepted := make(chan error, 1)
		go func() { accepted <- d.Accept(context.Background(), notice("o-1", 2, "SHIPPED")) }()
		time.Sleep(100 * time.Millisecond)
		stop()

		if err := <-accepted; err == nil {
			t.Error("Accept has stored nothing and returns nil")
		}

		if got := h.statuses(d); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// TestManyEndpointsAreServedTogether, sixteen at the same time.
func TestManyEndpointsAreServedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)

		var mu sync.Mutex
		running, most := 0, 0

		for i := range 40 {
			h.endpoint(fmt.Sprint("e-", i), func(s *notify.Settings) { s.Destination = "all" })
		}
		h.at("all").set(0, func(notify.Message) (notify.Answer, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			running--

			return notify.Answer{Status: 200}, nil
		})
		d := h.worker()
		defer h.run(d)()
		began := time.Now()
		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if took := time.Since(began); most != 16 || took != 300*time.Millisecond || len(h.at("all").keys()) != 40 {
			t.Errorf("%d at once, after %v, %d arrived", most, took, len(h.at("all").keys()))
		}
	})
}
