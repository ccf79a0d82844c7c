package notify_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/transitions"
)

func TestANotificationCostsOneReadAndOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-0", 2, "SHIPPED")) // reads the endpoints
		h.transport.Reset()
		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if got, want := h.transport.Calls(), []string{"Query", "PutItem"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestASlowEndpointCostsTwoWrites: the record is written before the first attempt of an
// endpoint that was slow before, and Accept does not wait for it.
func TestASlowEndpointCostsTwoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(3*time.Second, nil)
		d := h.worker()
		defer h.run(d)()

		began := time.Now()
		h.accept(d, notice("o-0", 2, "SHIPPED"))

		if took := time.Since(began); took != notify.FirstTry {
			t.Errorf("Accept waited %s for the first attempt, want %s", took, notify.FirstTry)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		h.transport.Reset()

		began = time.Now()
		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if took := time.Since(began); took != 0 {
			t.Errorf("Accept waited %s for an endpoint that is slow", took)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()

		if got, want := h.transport.Calls(), []string{"Query", "PutItem", "UpdateItem"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}

		if got := h.statuses(d); got["shop DELIVERED"] != 2 || far.effects() != 2 || len(far.keys()) != 2 {
			t.Errorf("%v, arrived %v", got, far.keys())
		}
	})
}

// TestARepeatChangesNothing: the stream hands a record over again after a crash.
func TestARepeatChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		n := notice("o-1", 2, "SHIPPED")
		h.accept(d, n, n)
		h.accept(h.worker(), n)

		if got := far.keys(); !slices.Equal(got, []string{"o-1/0/2/notify"}) {
			t.Errorf("arrived: %v", got)
		}
	})
}

// TestAnotherLifeOfAnOrderIsDelivered, although its transitions have the ids of those before: an order was deleted and
// its id is used again. A repeat of either changes nothing.
func TestAnotherLifeOfAnOrderIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		var lives [2][]notify.Notification
		for i := range lives {
			for id := int64(2); id <= 3; id++ {
				n := notice("o-1", id, "SHIPPED")
				n.Incarnation, n.Previous = transitions.Incarnation(fmt.Sprint(i)), transitions.TransitionID(id-1)
				n.Key = fmt.Sprintf("o-1/%d/%d/notify", i, id)
				lives[i] = append(lives[i], n)
			}
			h.accept(d, lives[i]...)
		}
		h.accept(d, slices.Concat(lives[0], lives[1])...)
		h.accept(h.worker(), slices.Concat(lives[1], lives[0])...)

		if got := far.keys(); !slices.Equal(got, []string{"o-1/0/2/notify", "o-1/0/3/notify", "o-1/1/2/notify", "o-1/1/3/notify"}) {
			t.Errorf("arrived: %v", got)
		}

		if got := h.statuses(d); got["shop DELIVERED"] != 4 {
			t.Errorf("%v", got)
		}
	})
}

func TestADeliveryIsTriedAgainAfterEachPauseOfTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, down)
		schedule := notify.Schedule{time.Second, 5 * time.Second, time.Minute, 3 * time.Minute}
		d := h.worker(func(c *notify.Config) { c.Schedule = schedule })
		defer h.run(d)()

		began := time.Now()
		h.accept(d, notice("o-1", 2, "SHIPPED"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()

		if len(far.times) != len(schedule)+1 {
			t.Fatalf("%d attempts, want %d", len(far.times), len(schedule)+1)
		}

		var pauses time.Duration
		for i, at := range far.times {
			// A pause is longer by a fifth at most, and by a look or the circuit.
			if after := at.Sub(began); after < pauses || after > pauses*6/5+time.Second {
				t.Errorf("attempt %d came after %s, want about %s", i+1, after, pauses)
			}

			if i < len(schedule) {
				pauses += schedule[i]
			}
		}

		got := h.get(d, "o-1/0/2/shop")
		if got.Status != notify.Missed || got.Attempts != 5 || got.Answer != 503 || got.Response != "try later" || got.Error != errDown.Error() {
			t.Errorf("got %+v", got)
		}

		missed, next, err := d.List(t.Context(), "shop", notify.Missed, began, "", 10)
		if err != nil || next != "" || len(missed) != 1 || missed[0].ID() != "o-1/0/2/shop" {
			t.Errorf("missed: %+v %q %v", missed, next, err)
		}
	})
}

// TestASlowEndpointIsTriedAgainOnTime: its first attempt ends after Accept has returned.
func TestASlowEndpointIsTriedAgainOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(time.Second, down)
		d := h.worker(func(c *notify.Config) {
			c.Schedule, c.LookEvery = notify.Schedule{5 * time.Second, 5 * time.Second}, time.Hour
		})
		defer h.run(d)()

		// The second notification is stored before its first attempt.
		h.accept(d, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"))
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop MISSED"] != 2 || len(far.keys()) != 6 {
			t.Errorf("%v, %d attempts, want 6", got, len(far.keys()))
		}
	})
}

func TestTheDefaultScheduleIsThatOfStandardWebhooks(t *testing.T) {
	var all time.Duration
	for _, pause := range notify.DefaultSchedule() {
		all += pause
	}

	if want := 75*time.Hour + 35*time.Minute + 5*time.Second; all != want || len(notify.DefaultSchedule()) != 9 {
		t.Errorf("%d pauses, %s, want 9 and %s", len(notify.DefaultSchedule()), all, want)
	}
}

func TestEveryAttemptHasTheSameIDAndKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, down)
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))
		time.Sleep(time.Minute)
		far.set(0, nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()

		for i, m := range far.messages {
			if m.Key != "o-1/0/2/notify" || m.ID != far.messages[0].ID || m.Attempt != i+1 || string(m.Body) != string(far.messages[0].Body) {
				t.Errorf("attempt %d: %+v", i+1, m)
			}
		}

		if len(far.messages) < 3 || h.get(d, "o-1/0/2/shop").Status != notify.Delivered {
			t.Errorf("%d attempts", len(far.messages))
		}
	})
}

func TestAPauseThatTheFarSideAsksForIsHonored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, func(notify.Message) (notify.Answer, error) {
			return notify.Answer{Status: 429}, notify.RetryAfter(errDown, 7*time.Minute)
		})
		d := h.worker()
		defer h.run(d)()

		began := time.Now()
		h.accept(d, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"))
		time.Sleep(7*time.Minute - time.Second)
		synctest.Wait()

		if n := len(far.keys()); n != 1 {
			t.Fatalf("%d attempts within the pause", n)
		}
		far.set(0, nil)
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 2 || far.times[1].Sub(began) < 7*time.Minute {
			t.Errorf("%v", got)
		}
	})
}

// TestACrashAtAnyCallLosesNoNotification loses the request or the answer of each call in turn,
// of a delivery whose first attempt fails. The stream then hands the notification over again.
func TestACrashAtAnyCallLosesNoNotification(t *testing.T) {
	for call := range 12 {
		for name, fault := range map[string]func(...string) embeddedtest.Fault{"request": embeddedtest.LoseRequest, "answer": embeddedtest.LoseAnswer} {
			t.Run(fmt.Sprintf("%s %d", name, call), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newDeliveryHarness(t)
					far := h.endpoint("shop", func(s *notify.Settings) { s.Ordered = call%2 == 0 })
					far.set(0, func(m notify.Message) (notify.Answer, error) {
						if m.Attempt == 1 {
							return down(m)
						}
						return notify.Answer{Status: 200}, nil
					})

					struck := fault("Query", "GetItem", "PutItem", "UpdateItem").From(call + 1).Next(1)
					h.transport.Inject(struck)

					d := h.worker()
					defer h.run(d)()

					for _, n := range []notify.Notification{notice("o-1", 2, "SHIPPED"), notice("o-1", 3, "DELIVERED")} {
						for d.Accept(t.Context(), n) != nil {
							time.Sleep(time.Second)
						}
					}
					time.Sleep(3 * time.Minute)
					synctest.Wait()

					if got := h.statuses(d); got["shop DELIVERED"] != 2 || far.effects() != 2 {
						t.Errorf("%v, arrived %v", got, far.keys())
					}
				})
			})
		}
	}
}

// TestANotificationHappensOnceAtAFarSideThatHonorsTheKey kills a worker at every point of an
// attempt. Another one makes it again, under the same key.
func TestANotificationHappensOnceAtAFarSideThatHonorsTheKey(t *testing.T) {
	for name, test := range map[string]struct {
		fault   embeddedtest.Fault
		down    bool // the far side takes the first message and does not answer
		arrived int
	}{
		"before it is sent":           {fault: embeddedtest.LoseRequest("Query").Next(1), arrived: 1},
		"the answer of the far side":  {down: true, arrived: 2},
		"before it is stored as sent": {fault: embeddedtest.LoseRequest("PutItem").Next(1), arrived: 2},
		"after it was stored as sent": {fault: embeddedtest.LoseAnswer("PutItem").Next(1), arrived: 1},
		"without a crash":             {arrived: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)

				far := h.endpoint("shop")
				if test.down {
					far.set(0, func(m notify.Message) (notify.Answer, error) {
						if m.Attempt == 1 {
							return notify.Answer{}, errDown
						}
						return notify.Answer{Status: 200}, nil
					})
				}

				if test.fault.On != nil {
					h.transport.Inject(test.fault)
				}
				d := h.worker()
				defer h.run(d)()

				n := notice("o-1", 2, "SHIPPED")
				for d.Accept(t.Context(), n) != nil {
					time.Sleep(time.Second)
				}
				h.accept(d, n)
				time.Sleep(3 * time.Minute)
				synctest.Wait()

				if far.effects() != 1 || len(far.keys()) != test.arrived {
					t.Errorf("%d effects, %d arrivals, want 1 and %d", far.effects(), len(far.keys()), test.arrived)
				}
			})
		})
	}
}

// TestAWorkerThatDiesLeavesItsDeliveriesToAnother: the first worker hangs in its attempts and
// is never seen again.
func TestAWorkerThatDiesLeavesItsDeliveriesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(time.Hour, nil) // longer than an attempt may take

		// The writes of the dead worker do not arrive.
		dead := h.worker(func(c *notify.Config) { c.DrainTimeout = time.Millisecond })
		stop := h.run(dead)
		for i := range 10 {
			h.accept(dead, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}
		cut := h.transport.Inject(embeddedtest.LoseRequest("UpdateItem"))
		stop()
		cut.Remove()
		far.set(0, nil)

		d := h.worker()
		defer h.run(d)()
		time.Sleep(5 * time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 10 {
			t.Errorf("%v", got)
		}
	})
}

func TestSeveralWorkersShareTheDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		h.endpoint("other")

		idle := h.worker() // stores without attempts
		for i := range 100 {
			h.accept(idle, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		}

		for range 3 {
			defer h.run(h.worker())()
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()

		if got := h.statuses(idle); !maps.Equal(got, map[string]int{"shop DELIVERED": 100, "other DELIVERED": 100}) {
			t.Errorf("%v", got)
		}

		if n := len(far.keys()); n != 100 || far.effects() != 100 {
			t.Errorf("%d arrivals of 100", n)
		}
	})
}

func TestPanicsAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(0, func(notify.Message) (notify.Answer, error) { panic("a defect") })
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if got := h.get(d, "o-1/0/2/shop"); got.Status != notify.Pending || got.Attempts != 1 || got.Error == "" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDeliveriesThatDoNotExistAreNotFound(t *testing.T) {
	h := newDeliveryHarness(t)
	d := h.worker()

	for id, want := range map[string]error{"o-1/0/2/shop": notify.ErrNotFound, "o-1": notify.ErrInvalid, "o-1/x/shop": notify.ErrInvalid, "o-1/0/99999999999999999999/shop": notify.ErrInvalid, "o-1/0/9999999999999999999/shop": notify.ErrInvalid} {
		if _, err := d.Get(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestAReplayAndAnotherGroupGetDeliveriesOfTheirOwn: their keys have a part behind the transition's
// key. Each is delivered once.
func TestAReplayAndAnotherGroupGetDeliveriesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		for _, suffix := range []string{"", "/again-a1", "", "/again-a1", "/group-audit"} {
			n := notice("o-1", 3, "SHIPPED")
			n.Key += suffix
			h.accept(d, n)
		}

		if got, want := far.keys(), []string{"o-1/0/3/notify", "o-1/0/3/notify/again-a1", "o-1/0/3/notify/group-audit"}; !slices.Equal(got, want) {
			t.Errorf("delivered %q, want %q", got, want)
		}
	})
}
