package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/workflow"
)

// TestOneOrdersNotificationsKeepTheirOrder: each first attempt fails, at random times. Three
// workers share the deliveries. Per order the far side sees a transition only after all earlier
// transitions have arrived.
func TestOneOrdersNotificationsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Ordered = true })
		calls := 0
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			far.mu.Lock()
			defer far.mu.Unlock()

			if calls++; calls%3 == 0 {
				return notify.Answer{Status: 500}, errDown
			}
			far.took = time.Duration(calls*37%700) * time.Millisecond

			return notify.Answer{Status: 200}, nil
		})

		h.config.Schedule = slices.Repeat(notify.Schedule{time.Second, 20 * time.Second}, 10)
		workers := []*notify.Deliveries{h.worker(), h.worker(), h.worker()}
		for _, d := range workers {
			defer h.run(d)()
		}

		const orders, transitions = 10, 5
		for id := range transitions {
			for order := range orders {
				h.accept(workers[(order+id)%3], notice(fmt.Sprint("o-", order), int64(id+2), "SHIPPED"))
			}
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()

		if got := h.statuses(workers[0]); got["shop DELIVERED"] != orders*transitions {
			t.Fatalf("%v", got)
		}

		for order := range orders {
			var seen []string // without repeats
			for _, key := range far.keys() {
				if strings.HasPrefix(key, fmt.Sprintf("o-%d/", order)) && !slices.Contains(seen, key) {
					seen = append(seen, key)
				}
			}

			if !slices.IsSorted(seen) || len(seen) != transitions {
				t.Errorf("order %d: %v", order, seen)
			}
		}
	})
}

// TestOtherOrdersDoNotWait: only the order whose notification fails is held up.
func TestOtherOrdersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Ordered = true })
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			if m.OrderID == "o-bad" {
				return notify.Answer{Status: 500}, errDown
			}
			return notify.Answer{Status: 200}, nil
		})
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-bad", 2, "SHIPPED"), notice("o-bad", 3, "DELIVERED"), notice("o-good", 2, "SHIPPED"), notice("o-good", 3, "DELIVERED"))
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 2 || got["shop PENDING"] != 2 {
			t.Errorf("%v", got)
		}

		if slices.Contains(far.keys(), "o-bad/0/3/notify") {
			t.Error("a notification was sent before an earlier one of its order had ended")
		}
	})
}

// TestWhatIsSkippedSaysNothingAboutItsEndpoint: the delivery ends with the reason, the circuit stays
// closed, and the endpoint is not failing. The next notification of the order goes out, and a skipped
// one on request.
func TestWhatIsSkippedSaysNothingAboutItsEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("mail", func(s *notify.Settings) { s.Ordered = true })
		without := true
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			if m.TransitionID == 2 && without {
				return notify.Answer{}, fmt.Errorf("%w: the order has no address", notify.ErrSkipped)
			}
			return notify.Answer{Status: 250}, nil
		})
		d := h.worker()
		defer h.run(d)()

		const orders = 10 // more than open a circuit
		for i := range orders {
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"), notice(fmt.Sprint("o-", i), 3, "DELIVERED"))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()

		if got := h.statuses(d); got["mail SKIPPED"] != orders || got["mail DELIVERED"] != orders {
			t.Errorf("%v", got)
		}

		if e, err := h.endpoints.Get(t.Context(), "mail"); err != nil || !e.FailingSince.IsZero() {
			t.Errorf("%+v, %v", e, err)
		}

		skipped := h.get(d, "o-0/0/2/mail")
		if skipped.Error != "skipped: the order has no address" || skipped.Attempts != 1 || !skipped.NextTry.IsZero() {
			t.Errorf("%+v", skipped)
		}

		for _, status := range []notify.Status{notify.Pending, notify.Missed} {
			if all, _, err := d.List(t.Context(), "mail", status, time.Time{}, "", 10); err != nil || len(all) != 0 {
				t.Errorf("%s: %+v, %v", status, all, err)
			}
		}

		without = false

		if _, err := d.Resend(t.Context(), skipped.ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()

		if again := h.get(d, skipped.ID()); again.Status != notify.Delivered || again.Error != "" {
			t.Errorf("after the resend: %+v", again)
		}
	})
}

// TestARefusedRecipientSaysNothingAboutItsEndpoint: more are refused than open a circuit, for longer
// than disables an endpoint. The others are served at once, and a delivery that was refused for good
// can be sent again.
func TestARefusedRecipientSaysNothingAboutItsEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("mail")
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			switch {
			case strings.HasPrefix(string(m.OrderID), "full"):
				return notify.Answer{Status: 552}, fmt.Errorf("%w: %w: 552 5.2.2", notify.ErrRejected, notify.ErrRecipient)
			case strings.HasPrefix(string(m.OrderID), "busy"):
				return notify.Answer{Status: 450}, fmt.Errorf("%w: 450 4.2.1", notify.ErrRecipient)
			}

			return notify.Answer{Status: 250}, nil
		})
		d := h.worker(func(c *notify.Config) { c.DisableAfter = 20 * time.Minute })
		defer h.run(d)()

		const orders = 10
		for i := range orders {
			h.accept(d, notice(fmt.Sprint("full-", i), 2, "SHIPPED"), notice(fmt.Sprint("busy-", i), 2, "SHIPPED"))
		}
		time.Sleep(45 * time.Minute) // 4 attempts
		synctest.Wait()

		if e, err := h.endpoints.Get(t.Context(), "mail"); err != nil || !e.FailingSince.IsZero() || e.Status == notify.Disabled {
			t.Errorf("%+v, %v", e, err)
		}
		h.accept(d, notice("good", 2, "SHIPPED"))
		synctest.Wait()

		if got := h.statuses(d); got["mail DELIVERED"] != 1 || got["mail MISSED"] != orders || got["mail PENDING"] != orders {
			t.Errorf("%v", got)
		}

		if full, busy := h.get(d, "full-0/0/2/mail"), h.get(d, "busy-0/0/2/mail"); full.Attempts != 1 || busy.Attempts != 4 {
			t.Errorf("%+v, %+v", full, busy)
		}
	})
}

// TestAHangingEndpointTakesNoPlaceFromAnother: the pool has four places, and an endpoint hangs
// with all it can get.
func TestAHangingEndpointTakesNoPlaceFromAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("hangs").set(time.Hour, nil)
		good := h.endpoint("good")
		good.set(10*time.Millisecond, nil)
		d := h.worker(func(c *notify.Config) { c.SetPlaces(4) })
		defer h.run(d)()

		began := time.Now()

		for i := range 40 {
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}

		// Accept waited for the first attempts at the hanging endpoint only until it was known
		// to be slow.
		if took := time.Since(began); took > 8*notify.FirstTry {
			t.Errorf("40 notifications took %s", took)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()

		if n := len(good.keys()); n != 40 {
			t.Errorf("%d of 40 arrived at the good endpoint", n)
		}
	})
}

func TestAnEndpointGetsWhatItsFilterSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		d := h.worker()
		defer h.run(d)()

		for id, filter := range map[string]notify.Filter{
			"all":     {},
			"state":   {States: []workflow.State{"SHIPPED", "LOST"}},
			"event":   {Events: []workflow.Event{"deliver"}},
			"both":    {States: []workflow.State{"SHIPPED"}, Events: []workflow.Event{"deliver"}},
			"euro":    {Attributes: map[string]string{"currency": "EUR"}},
			"dollar":  {Attributes: map[string]string{"currency": "USD"}},
			"unset":   {Attributes: map[string]string{"customer": ""}},
			"tenant":  {Tenant: "acme"},
			"tenants": {Tenant: notify.AllTenants},
		} {
			h.endpoint(id, func(s *notify.Settings) { s.Filter = filter })
		}

		delivered := notice("o-1", 3, "DELIVERED")
		delivered.Event = "deliver"
		h.accept(d, notice("o-1", 2, "SHIPPED"), delivered, notice("acme:o-2", 2, "PAID"))

		for id, want := range map[string]int{"all": 2, "state": 1, "event": 1, "both": 0, "euro": 2, "dollar": 0, "unset": 0, "tenant": 1, "tenants": 3} {
			if got := h.at(id).effects(); got != want {
				t.Errorf("%s: %d notifications, want %d", id, got, want)
			}
		}

		if body := string(h.at("tenant").messages[0].Body); !strings.Contains(body, `"orderId":"o-2"`) {
			t.Errorf("a tenant's endpoint does not see its own id of the order: %s", body)
		}
	})
}

// TestAnEndpointThatFailsForDaysIsDisabled and misses what happens then, until it is enabled
// and asks for it.
func TestAnEndpointThatFailsForDaysIsDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, down)

		var notices []string
		d := h.worker(func(c *notify.Config) {
			c.Schedule = slices.Repeat(notify.Schedule{time.Minute}, 20)
			c.DisableAfter = 10 * time.Minute
			c.Events.Disabled = func(endpoint, reason string) { notices = append(notices, endpoint+": "+reason) }
		})
		defer h.run(d)()

		began := time.Now()
		h.accept(d, notice("o-1", 2, "SHIPPED"))
		time.Sleep(5 * time.Minute)

		if e, _ := h.endpoints.Get(t.Context(), "shop"); e.Status != notify.Active || e.FailingSince.Sub(began).Abs() > time.Second {
			t.Fatalf("after 5 minutes: %+v", e)
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()

		e, err := h.endpoints.Get(t.Context(), "shop")
		if err != nil || e.Status != notify.Disabled || e.Reason == "" || e.DisabledAt.IsZero() || len(notices) != 1 {
			t.Fatalf("%+v, %v, notices %v", e, err, notices)
		}

		h.accept(d, notice("o-2", 2, "SHIPPED"))
		time.Sleep(time.Minute)
		synctest.Wait()

		tried := len(far.keys())

		if got := h.statuses(d); got["shop MISSED"] != 2 {
			t.Fatalf("%v", got)
		}

		if _, err := resendMissed(t, d, "shop", began, 10); err == nil {
			t.Error("a disabled endpoint gets what it missed")
		}

		far.set(0, nil)

		if _, err := h.endpoints.Enable(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}

		if count, err := resendMissed(t, d, "shop", began, 10); err != nil || count != 2 {
			t.Fatalf("%d, %v", count, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 2 || len(far.keys()) != tried+2 {
			t.Errorf("%v, %d attempts", got, len(far.keys())-tried)
		}

		if e, _ := h.endpoints.Get(t.Context(), "shop"); !e.FailingSince.IsZero() {
			t.Errorf("failing since %s after a success", e.FailingSince)
		}
	})
}

// TestAFailureThatWasNotStoredIsStoredLater: the write of the first failure is lost. The
// endpoint still comes to be disabled.
func TestAFailureThatWasNotStoredIsStoredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, down)
		d := h.worker(func(c *notify.Config) {
			c.Schedule = slices.Repeat(notify.Schedule{time.Minute}, 20)
			c.DisableAfter = 5 * time.Minute
		})
		defer h.run(d)()

		lost := h.transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").Next(1))
		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if lost.Strikes() != 1 {
			t.Fatal("the first failure was stored")
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()

		if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.Status != notify.Disabled {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestASuccessEndsTheTimeOfFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker(func(c *notify.Config) { c.DisableAfter = 5 * time.Minute })
		defer h.run(d)()

		for i := range 10 {
			answer := down
			if i%2 == 0 {
				answer = nil
			}
			far.set(0, answer)
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
			time.Sleep(2 * time.Minute)
		}

		if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.Status != notify.Active {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t, notify.Endpoint{ID: "configured", Settings: notify.Settings{Destination: "shop"}})
		h.at("shop").set(0, func(notify.Message) (notify.Answer, error) { return notify.Answer{Status: 410}, notify.ErrGone })
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"))

		if e, err := h.endpoints.Get(t.Context(), "configured"); err != nil || e.Status != notify.Disabled || len(h.at("shop").keys()) != 1 {
			t.Errorf("%+v, %v, %v", e, err, h.at("shop").keys())
		}

		if got := h.statuses(d); got["configured MISSED"] != 2 {
			t.Errorf("%v", got)
		}
	})
}

func TestTheRateLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Rate = 5 })
		d := h.worker()
		defer h.run(d)()

		for i := range 50 {
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		for i, at := range far.times {
			if i >= 10 && at.Sub(far.times[i-10]) < time.Second { // a burst of 5, and 5 in the second
				t.Errorf("attempts %d to %d came within %s", i-9, i+1, at.Sub(far.times[i-10]))
			}
		}

		if far.effects() != 50 {
			t.Errorf("%d of 50 arrived", far.effects())
		}
	})
}

func TestTheConcurrencyOfAnEndpointHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Concurrency = 3 })
		far.set(500*time.Millisecond, nil)
		d := h.worker()
		defer h.run(d)()

		for i := range 30 {
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		if far.most != 3 || far.effects() != 30 {
			t.Errorf("%d at once, %d of 30 arrived", far.most, far.effects())
		}
	})
}

// TestTheCircuitSparesAnEndpointThatIsDown: a thousand waiting notifications cause a few
// attempts while it is down, and all are sent when it is back.
func TestTheCircuitSparesAnEndpointThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, down)
		d := h.worker()
		defer h.run(d)()

		const all = 300
		for i := range all {
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()

		if n := len(far.keys()); n > 40 {
			t.Errorf("%d attempts in 20 minutes", n)
		}
		far.set(0, nil)
		time.Sleep(30 * time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != all {
			t.Errorf("%v", got)
		}
	})
}
