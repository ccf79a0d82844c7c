package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/workflow"
)

// replace removes an endpoint and creates it again, as another process does it.
func (h *deliveryHarness) replace(id, destination string) {
	h.t.Helper()

	admin := h.newEndpoints()
	if err := admin.Remove(h.t.Context(), id); err != nil {
		h.t.Fatal(err)
	}

	if _, err := admin.Create(h.t.Context(), id, notify.Settings{Destination: destination}, nil); err != nil {
		h.t.Fatal(err)
	}
}

// jumps returns a function that sets the clock of the endpoints forward, which costs no time.
func (h *deliveryHarness) jumps() func(time.Duration) {
	var ahead atomic.Int64

	h.endpoints.SetNow(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })

	return func(by time.Duration) { ahead.Add(int64(by)) }
}

// TestAReplacedEndpointGetsWhatComesLater, and its former destination and secrets get nothing, ten seconds later.
func TestAReplacedEndpointGetsWhatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		old, present := h.endpoint("shop"), h.at("new")

		var signed [][]notify.Secret
		h.config.Open = func(e notify.Endpoint) (notify.Destination, error) {
			signed = append(signed, e.Secrets)
			return h.at(e.Destination), nil
		}
		d := h.worker()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))
		h.replace("shop", "new")
		time.Sleep(notify.RefreshEvery)

		for i := range 3 {
			h.accept(d, notice(fmt.Sprint("later-", i), 2, "SHIPPED"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		if len(old.keys()) != 1 || len(present.keys()) != 3 {
			t.Errorf("the former destination got %v, the present one %v", old.keys(), present.keys())
		}

		e, err := h.endpoints.Get(t.Context(), "shop")
		if err != nil || len(signed) != 2 || !slices.Equal(signed[1][0].Key, e.Secrets[0].Key) {
			t.Errorf("signed with %v, %v", signed, err)
		}
	})
}

// TestAnAttemptGoesToWhatTheEndpointIsThen: the worker has looked at the endpoints just before, for another
// notification, so that two delays could add up.
func TestAnAttemptGoesToWhatTheEndpointIsThen(t *testing.T) {
	for name, change := range map[string]func(context.Context, *notify.Endpoints) error{
		"changed": func(ctx context.Context, s *notify.Endpoints) error {
			_, err := s.Change(ctx, "shop", func(s *notify.Settings) error { s.Destination = "new"; return nil })
			return err
		},
		"removed":  func(ctx context.Context, s *notify.Endpoints) error { return s.Remove(ctx, "shop") },
		"disabled": func(ctx context.Context, s *notify.Endpoints) error { _, err := s.Disable(ctx, "shop", ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)
				old := h.endpoint("shop", func(s *notify.Settings) {
					s.Concurrency, s.Filter.Events = 1, []workflow.Event{"pay"}
				})
				h.at("new") // before the worker runs
				old.set(9*time.Second, nil)
				h.endpoint("other", func(s *notify.Settings) { s.Filter.Events = []workflow.Event{"refund"} }).set(0, down)
				d := h.worker(func(c *notify.Config) { c.LookEvery = time.Hour })

				for i := range 5 { // one after the other, from one look
					h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
				}
				defer h.run(d)()

				// Its first failure is stored, and so the worker looks again, between two of its regular looks.
				time.Sleep(500 * time.Millisecond)
				failing := notice("x", 2, "REFUNDED")
				failing.Event = "refund"
				h.accept(d, failing)
				time.Sleep(time.Second)

				if err := change(t.Context(), h.newEndpoints()); err != nil {
					t.Fatal(err)
				}
				changed := time.Now()
				// What was read before must not be used for longer because there is nothing newer.
				readable := changed.Add(40 * time.Second)
				h.transport.Inject(embeddedtest.Answer("AccessDeniedException", "Scan").If(func(*embeddedtest.Call) bool { return time.Now().Before(readable) }))
				time.Sleep(2 * time.Minute)
				synctest.Wait()

				for i, at := range old.times {
					if at.Sub(changed) > notify.RefreshEvery {
						t.Errorf("attempt %d went to the former destination %s after the change", i, at.Sub(changed))
					}
				}

				if got := h.statuses(d); got["shop PENDING"] != 0 {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

// TestAChangedDestinationIsTriedAtOnce: the pause was asked for by the former destination.
func TestAChangedDestinationIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, func(notify.Message) (notify.Answer, error) {
			return notify.Answer{Status: 429}, notify.RetryAfter(errDown, 20*time.Hour)
		})
		present := h.at("new")
		d, _ := h.separate()
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))

		if _, err := h.endpoints.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Destination = "new"; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(notify.RefreshEvery)
		h.accept(d, notice("o-2", 2, "SHIPPED"))
		time.Sleep(time.Minute)
		synctest.Wait()

		if len(present.keys()) != 1 {
			t.Errorf("the present destination got %v", present.keys())
		}
	})
}

// TestTheDeliveriesOfARemovedEndpointEnd, also those that wait for a try, and those of an endpoint that was
// created again.
func TestTheDeliveriesOfARemovedEndpointEnd(t *testing.T) {
	for name, remove := range map[string]func(*deliveryHarness) error{
		"removed": func(h *deliveryHarness) error { return h.newEndpoints().Remove(h.t.Context(), "shop") },
		"replaced": func(h *deliveryHarness) error {
			h.replace("shop", "new")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)
				h.endpoint("shop", func(s *notify.Settings) { s.Ordered = true }).set(0, down)
				present := h.at("new")
				d := h.worker()
				defer h.run(d)()

				for order := range 20 {
					for id := range 2 {
						h.accept(d, notice(fmt.Sprint("o-", order), int64(id+2), "SHIPPED"))
					}
				}
				time.Sleep(time.Minute)

				if err := remove(h); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()

				if got := h.statuses(d); got["shop MISSED"] != 40 || len(got) != 1 || len(present.keys()) != 0 {
					t.Errorf("%v, the endpoint of the same id got %v", got, present.keys())
				}

				if got := h.get(d, "o-1/0/2/shop"); !strings.HasPrefix(got.Error, "the endpoint was removed") || !got.NextTry.IsZero() {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestAnEndpointThatIsConfiguredNoMoreEndsItsDeliveries, but not while a worker still has it.
func TestAnEndpointThatIsConfiguredNoMoreEndsItsDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t, notify.Endpoint{ID: "own", Settings: notify.Settings{Destination: "own"}})
		h.at("own").set(0, down)
		with := h.worker()
		stop := h.run(with)
		jump := h.jumps()
		h.config.Endpoints = h.newEndpoints()
		h.config.Endpoints.SetNow(h.endpoints.Now)
		without := h.worker()
		defer h.run(without)()

		h.accept(with, notice("o-1", 2, "SHIPPED"))

		for range 4 {
			jump(10 * time.Hour)
			time.Sleep(time.Minute)
		}

		if got := h.get(with, "o-1/0/2/own"); got.Status != notify.Pending {
			t.Fatalf("a worker has the endpoint: %+v", got)
		}
		stop()

		if _, err := without.Resend(t.Context(), "o-1/0/2/own"); !errors.Is(err, notify.ErrPending) {
			t.Error(err)
		}
		jump(26 * time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.get(without, "o-1/0/2/own"); got.Status != notify.Missed {
			t.Errorf("no worker has the endpoint: %+v", got)
		}
		jump(26 * time.Hour)
		time.Sleep(2 * time.Hour)
		synctest.Wait()

		if out, err := h.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("endpoints")}); err != nil || len(out.Items) != 0 {
			t.Errorf("items of former endpoints stay: %v, %v", out.Items, err)
		}
	})
}

// TestNothingIsSentAgainToAnEndpointThatIsNotThere: the call is refused, or the delivery ends.
func TestNothingIsSentAgainToAnEndpointThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()
		h.accept(d, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"), notice("o-3", 2, "SHIPPED"))

		refused := func(order string, want error) {
			t.Helper()

			if got, err := d.Resend(t.Context(), order+"/0/2/shop"); !errors.Is(err, want) || got.Status == notify.Pending {
				t.Errorf("%+v, %v", got, err)
			}
		}

		if _, err := h.endpoints.Disable(t.Context(), "shop", ""); err != nil {
			t.Fatal(err)
		}
		refused("o-1", notify.ErrDisabled)

		if _, err := h.endpoints.Enable(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		// Removed between the read of the endpoint and the write.
		h.transport.Before(func(c *embeddedtest.Call) error {
			if c.Operation != "UpdateItem" {
				return nil
			}
			h.transport.Clear()

			return h.newEndpoints().Remove(t.Context(), "shop")
		})

		if _, err := d.Resend(t.Context(), "o-1/0/2/shop"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.get(d, "o-1/0/2/shop"); got.Status == notify.Pending {
			t.Errorf("%+v", got)
		}
		refused("o-2", notify.ErrNotFound)
		time.Sleep(time.Second)
		h.endpoint("shop")
		refused("o-3", notify.ErrNotFound)

		if n, err := resendMissed(t, d, "shop", time.Time{}, 10); err != nil || n != 0 {
			t.Errorf("%d of a former endpoint, %v", n, err)
		}
	})
}

// TestDeliveriesThatWaitForLongAreTriedAtLast: twelve notifications of one order, each of which is refused for
// days, so that the last one waits for more than a month.
func TestDeliveriesThatWaitForLongAreTriedAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", func(s *notify.Settings) { s.Ordered = true })
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			if m.OrderID == "bad" {
				return notify.Answer{Status: 500}, errDown
			}
			return notify.Answer{Status: 204}, nil
		})
		h.config.Schedule = notify.Schedule{24 * time.Hour, 24 * time.Hour, 24 * time.Hour}
		jump := h.jumps()

		const all, days = 12, 12 * 4

		for day := range days {
			d := h.worker()
			stop := h.run(d)

			if day == 0 {
				for i := range all {
					h.accept(d, notice("bad", int64(i+2), "PARTIALLY_SHIPPED"))
				}
			}
			h.accept(d, notice(fmt.Sprint("good-", day), 2, "SHIPPED")) // the endpoint does not fail
			time.Sleep(2 * time.Second)
			stop()
			jump(30 * time.Hour)
		}

		tried := map[string]bool{}
		for _, key := range far.keys() {
			tried[key] = true
		}

		if left := h.statuses(h.worker())["shop PENDING"]; left != 0 || len(tried) != all+days {
			t.Errorf("%d of %d were tried, %d are PENDING", len(tried)-days, all, left)
		}
	})
}

// TestSilenceIsNoFailure: an endpoint that gets a message a week fails one of them, and a week later the first
// attempt with the next one.
func TestSilenceIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		h.config.Schedule = notify.Schedule{time.Second}
		jump := h.jumps()

		for week := range 3 {
			far.set(0, down)
			d := h.worker()
			stop := h.run(d)
			h.accept(d, notice(fmt.Sprint("o-", week), 2, "SHIPPED"))
			time.Sleep(3 * time.Second)
			stop()
			jump(7 * 24 * time.Hour)
		}

		if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.Status != notify.Active {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// TestAnEndpointIsDisabledOnceAlthoughAnAnswerIsLost, and its owner hears of it.
func TestAnEndpointIsDisabledOnceAlthoughAnAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop").set(0, func(notify.Message) (notify.Answer, error) { return notify.Answer{Status: 410}, notify.ErrGone })

		disabled := 0
		d := h.worker(func(c *notify.Config) { c.Events.Disabled = func(string, string) { disabled++ } })
		defer h.run(d)()

		lost := h.transport.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(1))
		h.accept(d, notice("o-1", 2, "SHIPPED"))
		time.Sleep(time.Second)
		synctest.Wait()

		if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.Status != notify.Disabled || lost.Strikes() != 1 || disabled != 1 {
			t.Errorf("%+v, %v; %d answers were lost, %d events", e, err, lost.Strikes(), disabled)
		}
	})
}

// TestANewEndpointIsNotTakenForAFormerOne: by an edit, a removal or a creation that was under way.
func TestANewEndpointIsNotTakenForAFormerOne(t *testing.T) {
	for description, call := range map[string]func(*notify.Endpoints) error{
		"changed": func(s *notify.Endpoints) error {
			_, err := s.Change(t.Context(), "shop", func(s *notify.Settings) error { s.Description = "changed"; return nil })
			return err
		},
		"": func(s *notify.Endpoints) error { return s.Remove(t.Context(), "shop") },
	} {
		h := newDeliveryHarness(t)
		h.endpoint("shop")

		h.transport.Before(func(c *embeddedtest.Call) error {
			if !c.Is("UpdateItem", "PutItem", "DeleteItem") {
				return nil
			}
			h.transport.Clear()
			h.replace("shop", "new")

			return nil
		})

		if err := call(h.endpoints); err != nil {
			t.Errorf("%q: %v", description, err)
		}

		if e, err := h.endpoints.Get(t.Context(), "shop"); err != nil || e.Destination != "new" || e.Description != description {
			t.Errorf("%q: %+v, %v", description, e, err)
		}
	}

	// A removal whose answer is lost does not remove what others create before it is sent again.
	h := newDeliveryHarness(t)
	h.endpoint("shop")
	h.transport.Inject(embeddedtest.LoseAnswer("PutItem", "DeleteItem").Next(1))

	writes := 0
	h.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("PutItem", "DeleteItem") {
			if writes++; writes == 2 {
				_, err := h.newEndpoints().Create(t.Context(), "shop", notify.Settings{Destination: "new"}, nil)
				return err
			}
		}

		return nil
	})

	if err := h.endpoints.Remove(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}

	if e, err := h.newEndpoints().Get(t.Context(), "shop"); err != nil || e.Destination != "new" {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestARepeatOfAnotherGroupHasAnIDOfItsOwn, by which it is found and sent again.
func TestARepeatOfAnotherGroupHasAnIDOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker()
		defer h.run(d)()

		other := notice("o-1", 2, "SHIPPED")
		other.Key += "/replay-1"
		h.accept(d, notice("o-1", 2, "SHIPPED"), other)

		all, err := d.OfOrder(t.Context(), "o-1")
		if err != nil || len(all) != 2 || all[0].ID() == all[1].ID() {
			t.Fatalf("%+v, %v", all, err)
		}

		for _, delivery := range all {
			if got, err := d.Resend(t.Context(), delivery.ID()); err != nil || got.Key != delivery.Key {
				t.Errorf("%s: %+v, %v", delivery.ID(), got, err)
			}
		}
	})
}
