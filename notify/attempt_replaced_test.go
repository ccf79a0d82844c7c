package notify_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/notify"
	"ratchet/workflow"
)

// TestADeliveryBelongsToTheEndpointThatItWasTriedWith: it was stored for a former endpoint of the id. A later
// change of the filter does not take it back.
func TestADeliveryBelongsToTheEndpointThatItWasTriedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, down)
		present := h.at("new")
		present.set(0, down)
		h.config.Schedule = notify.Schedule{15 * time.Second, 15 * time.Second, 15 * time.Second}
		d, _ := h.separate()
		defer h.run(d)()

		h.replace("shop", "new")
		h.accept(d, notice("o-1", 2, "SHIPPED")) // the worker has not heard of the new endpoint
		got := func(n int) bool {                // the tries have jitter
			for range 60 {
				time.Sleep(time.Second)
				synctest.Wait()

				if len(present.keys()) >= n {
					return true
				}
			}

			return false
		}

		if !got(1) {
			t.Fatal("the present endpoint got nothing")
		}

		_, err := h.newEndpoints().Change(t.Context(), "shop", func(s *notify.Settings) error {
			s.Filter.States = []workflow.State{"REFUNDED"}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}

		if !got(2) {
			t.Errorf("the present endpoint got %v: %+v", present.keys(), h.get(d, "o-1/0/2/shop"))
		}
	})
}

// TestTheAnswerOfAFormerDestinationSaysNothingOfThePresentOne: the attempt ends after another one has begun there.
func TestTheAnswerOfAFormerDestinationSaysNothingOfThePresentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(15*time.Second, func(notify.Message) (notify.Answer, error) {
			return notify.Answer{Status: 410}, notify.ErrGone
		})
		present := h.at("new")
		d, _ := h.separate()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if _, err := h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Destination = "new"; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(notify.RefreshEvery + time.Second)
		h.accept(d, notice("o-2", 2, "SHIPPED"))
		time.Sleep(time.Minute)
		synctest.Wait()

		e, err := h.endpoints.Get(t.Context(), "shop")
		if err != nil || e.Status != notify.Active || len(present.keys()) != 1 {
			t.Errorf("%+v, %v; the present destination got %v", e, err, present.keys())
		}
	})
}

// TestAnAttemptThatRunsWhenItsEndpointIsRemovedCounts: its delivery is not given up beside it.
func TestAnAttemptThatRunsWhenItsEndpointIsRemovedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		far.set(18*time.Second, nil)
		d, _ := h.separate()
		defer h.run(d)()
		other, _ := h.separate()
		defer h.run(other)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if err := h.newEndpoints().Remove(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.get(d, "o-1/0/2/shop"); got.Status != notify.Delivered || len(far.keys()) != 1 {
			t.Errorf("%+v, arrived %v", got, far.keys())
		}
	})
}

// TestAFormerSecretSignsUntilItsWindowEnds: the destination is opened again then, without a change of the endpoint.
func TestAFormerSecretSignsUntilItsWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")

		var secrets []int
		h.config.Open = func(e notify.Endpoint) (notify.Destination, error) {
			secrets = append(secrets, len(e.Secrets))
			return h.at(e.Destination), nil
		}
		jump := h.jumps()
		d := h.worker()
		defer h.run(d)()

		if _, err := h.endpoints.RotateSecret(t.Context(), "shop", nil, time.Hour); err != nil {
			t.Fatal(err)
		}

		for i := range 4 {
			time.Sleep(notify.RefreshEvery)
			h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
			jump(25 * time.Minute)
		}
		synctest.Wait()

		if !slices.Equal(secrets, []int{2, 1}) {
			t.Errorf("opened with %v secrets", secrets)
		}
	})
}

// TestAFailureAfterAnotherWorkersSuccessIsTheFirstOne: this worker has failed before, and stores it again.
func TestAFailureAfterAnotherWorkersSuccessIsTheFirstOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		rejects := func(notify.Message) (notify.Answer, error) { return notify.Answer{Status: 400}, notify.ErrRejected }
		one, _ := h.separate()
		defer h.run(one)()
		two, _ := h.separate()
		defer h.run(two)()

		failing := func(want bool) {
			t.Helper()
			time.Sleep(2 * notify.RefreshEvery)

			if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.FailingSince.IsZero() == want {
				t.Errorf("%+v, %v", e, err)
			}
		}

		far.set(0, rejects)
		h.accept(one, notice("o-1", 2, "SHIPPED"))
		failing(true)
		far.set(0, nil)
		h.accept(two, notice("o-2", 2, "SHIPPED"))
		failing(false)
		far.set(0, rejects)
		h.accept(one, notice("o-3", 2, "SHIPPED"))
		failing(true)
	})
}
