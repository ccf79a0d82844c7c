package transitions_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// These tests reproduce races from the issue trackers of real shops, with both journals.

// raced sends the requests at the same time and returns their verdicts.
func (s *orders) raced(t testing.TB, requests ...transitions.Request) []transitions.Verdict {
	t.Helper()
	verdicts := make([]transitions.Verdict, len(requests))
	var start, done sync.WaitGroup
	start.Add(1)

	for i, r := range requests {
		done.Go(func() {
			start.Wait()

			result, err := s.Apply(t.Context(), r)
			if err != nil {
				t.Errorf("%+v: %v", r, err)
			}
			verdicts[i] = result.Verdict
		})
	}
	start.Done()
	done.Wait()

	return verdicts
}

// onlyOne checks that exactly one verdict is Applied and returns its index.
func onlyOne(t testing.TB, verdicts []transitions.Verdict) int {
	t.Helper()

	won := -1
	for i, v := range verdicts {
		if v != transitions.Applied {
			continue
		}

		if won >= 0 {
			t.Fatalf("two winners: %v", verdicts)
		}
		won = i
	}

	if won < 0 {
		t.Fatalf("no winner: %v", verdicts)
	}

	return won
}

// rounds is how often a race is repeated.
const rounds = 25

// TestALateExpiredCallbackLeavesAPaidOrderAlone: a processor's "expired" callback arrives
// after the customer has paid. Mollie's plugin canceled paid orders this way:
// https://github.com/mollie/WooCommerce/pull/1182.
func TestALateExpiredCallbackLeavesAPaidOrderAlone(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "paid")
		s.want(t, keyed("paid", workflow.Pay, "webhook-paid"), transitions.Applied)

		for range 2 { // processors repeat their callbacks
			result := s.want(t, keyed("paid", workflow.Expire, "webhook-expired"), transitions.WrongState)
			if result.Order.State != workflow.PaymentReceived {
				t.Errorf("the result must show where the order is: %+v", result.Order)
			}
		}
		s.want(t, given("paid", workflow.Expire, 2), transitions.Superseded) // the same event from an execution's timer

		for n := range rounds {
			id := transitions.OrderID(fmt.Sprint("o-", n))
			s.place(t, id)
			won := onlyOne(t, s.raced(t, keyed(id, workflow.Pay, "webhook-paid"), keyed(id, workflow.Expire, "webhook-expired")))
			s.stands(t, id, []workflow.State{workflow.PaymentReceived, workflow.Expired}[won])
		}
	})
}

// stands checks that the order is in the state, after one transition since placing.
func (s *orders) stands(t testing.TB, id transitions.OrderID, want workflow.State) {
	t.Helper()

	order, _, err := s.Get(t.Context(), id)
	if err != nil || order.State != want || order.TransitionID != 2 {
		t.Errorf("%s: %+v, %v; want %s at transition 2", id, order, err, want)
	}
}

// TestConcurrentReportsOfOnePaymentAreAppliedOnce: the customer's redirect and the
// processor's webhook report the same payment at once. One moves the order, the other finds
// it paid. In https://github.com/mollie/Shopware6/issues/1037 the order was paid twice and
// two mails were sent.
func TestConcurrentReportsOfOnePaymentAreAppliedOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		for n := range rounds {
			id := transitions.OrderID(fmt.Sprint("o-", n))
			s.place(t, id)
			requests := []transitions.Request{keyed(id, workflow.Pay, "redirect"), keyed(id, workflow.Pay, "webhook"), keyed(id, workflow.Pay, "webhook")}
			verdicts := s.raced(t, requests...)
			won := onlyOne(t, verdicts)
			s.stands(t, id, workflow.PaymentReceived)

			for i, r := range requests { // later repetitions
				want := transitions.WrongState
				if r.RequestID == requests[won].RequestID {
					want = transitions.Replayed
				}

				if result := s.want(t, r, want); result.Order.State != workflow.PaymentReceived {
					t.Errorf("the result of request %d must show that the order is paid: %+v", i, result.Order)
				}
			}
		}
	})
}

// paying returns payments (workflow.Payment) instead of orders, and opens one
// payment.
func paying(t *testing.T, newOrders maker, id transitions.OrderID) *orders {
	t.Helper()
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Journal, c.Definition = s.mode, workflow.Payment() })
	s.open(t, id)

	return s
}

// open creates a payment of 2500 that is authorized and can be captured.
func (s *orders) open(t testing.TB, id transitions.OrderID) {
	t.Helper()
	s.place(t, id)

	for name, n := range map[string]int{workflow.PaymentTotal: 2500, workflow.PaymentCaptured: 0, workflow.PaymentRefunded: 0} {
		s.putOn(t, id, name, num(n))
	}
	s.want(t, given(id, "authorize", 2), transitions.Applied)
}

// TestASecondSettledReportIsNoError: a second report gets a verdict with the state that it
// wants, and a repeated report is Replayed. In https://github.com/vendurehq/vendure/issues/3734
// the transition from Settled to Settled was an error that the buyer saw.
func TestASecondSettledReportIsNoError(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := paying(t, newOrders, "o-1")
		s.want(t, given("o-1", "capture", 3), transitions.Applied)
		s.put(t, workflow.PaymentCaptured, num(2500))
		s.want(t, keyed("o-1", "settle", "report-1"), transitions.Applied)
		s.want(t, keyed("o-1", "settle", "report-1"), transitions.Replayed)

		for range 2 {
			if r := s.want(t, keyed("o-1", "settle", "report-2"), transitions.WrongState); r.Order.State != "CAPTURED" || r.Order.TransitionID != 4 {
				t.Errorf("%+v", r.Order)
			}
		}
	})
}

// TestWorkerPoint35_VoidAndCaptureExcludeEachOther: the seller voids a payment while the worker captures
// it. Only one of the two may be applied.
func TestWorkerPoint35_VoidAndCaptureExcludeEachOther(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := paying(t, newOrders, "o-1")
		for n := range rounds {
			id := transitions.OrderID(fmt.Sprint("p-", n))
			s.open(t, id)
			capture, void := given(id, "capture", 3), keyed(id, "void", "seller")

			verdicts := s.raced(t, capture, void)
			won := onlyOne(t, verdicts)
			order, _, err := s.Get(t.Context(), id)
			if err != nil || order.State != []workflow.State{"CAPTURING", "VOIDED"}[won] || order.TransitionID != 3 {
				t.Errorf("%v: %+v, %v", verdicts, order, err)
			}

			if lost := s.want(t, []transitions.Request{void, capture}[won], []transitions.Verdict{transitions.WrongState, transitions.Superseded}[won]); lost.Order.State != order.State {
				t.Errorf("the refusal must show the state of the payment: %+v", lost.Order)
			}

			// A later id of the loser is refused by the state alone.
			s.want(t, given(id, []workflow.Event{"void", "capture"}[won], 4), transitions.WrongState)
		}
	})
}

// TestWorkerPoint34_AnEventBeforeItsOrderCanBeRetried: a webhook arrives before the order is placed.
// NotFound records nothing, so that a retry of the request can be applied. In
// statamic-cargo's issue 190 the order stayed pending.
func TestWorkerPoint34_AnEventBeforeItsOrderCanBeRetried(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		for n, r := range []transitions.Request{given("o-0", workflow.Pay, 2), keyed("o-1", workflow.Pay, "webhook")} {
			s.want(t, r, transitions.NotFound)
			s.want(t, r, transitions.NotFound)
			s.place(t, transitions.OrderID(fmt.Sprint("o-", n)))
			s.want(t, r, transitions.Applied)
			s.want(t, r, transitions.Replayed)
		}
	})
}

// TestWorkerPoint29_TwoExecutionsOfOneOrderApplyEachStepOnce: two executions move one order, each with ids
// computed from its earlier results. Every transition must be applied once, and both
// executions must come to the end.
func TestWorkerPoint29_TwoExecutionsOfOneOrderApplyEachStepOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		// The state allows a second ShipPart; only its id tells that it was made.
		plan := []workflow.Event{workflow.Pay, workflow.ShipPart, workflow.ShipPart, workflow.Ship, workflow.Deliver, workflow.Close}
		for n := range rounds {
			id := transitions.OrderID(fmt.Sprint("o-", n))
			s.place(t, id)

			var applied [2]int
			var group sync.WaitGroup
			for who := range applied {
				group.Go(func() {
					at := placeID
					for _, event := range plan {
						r, err := s.Apply(t.Context(), given(id, event, at+1))
						if err != nil || !r.Verdict.Done() {
							t.Errorf("execution %d: %s: %s, %v", who, event, r.Verdict, err)
							return
						}

						if at = r.Transition.ID; r.Verdict == transitions.Applied {
							applied[who]++
						}
					}
				})
			}
			group.Wait()

			order, _, err := s.Get(t.Context(), id)
			if err != nil || order.State != workflow.Completed || applied[0]+applied[1] != len(plan) || int(order.TransitionID) != 1+len(plan) {
				t.Errorf("%v applied, %+v, %v", applied, order, err)
			}
		}
	})
}

// TestWorkerPoint28_ARedriveGetsTheSameVerdicts: a redriven execution repeats old requests. Some were
// applied, others were overtaken by a clerk. Each must get the same verdict as before.
func TestWorkerPoint28_ARedriveGetsTheSameVerdicts(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		pay, ship, again := given("o-1", workflow.Pay, 2), given("o-1", workflow.Ship, 3), given("o-1", workflow.Ship, 5)
		first := s.want(t, pay, transitions.Applied)
		s.want(t, keyed("o-1", workflow.Hold, "clerk"), transitions.Applied) // takes id 3
		s.want(t, ship, transitions.Superseded)
		s.want(t, keyed("o-1", workflow.Release, "clerk-2"), transitions.Applied)
		s.want(t, again, transitions.Applied)
		s.want(t, given("o-1", workflow.Deliver, 9), transitions.Applied) // a gap

		for range 2 {
			sameTransition(t, s.want(t, pay, transitions.Replayed).Transition, first.Transition)
			s.want(t, ship, transitions.Superseded)
			s.want(t, again, transitions.Replayed)
			s.want(t, given("o-1", workflow.Deliver, 7), transitions.Superseded) // in the gap
		}
	})
}

// TestWorkerPoint45_ClockSkewDoesNotChangeVerdicts lets three machines, whose clocks are up to ten minutes
// apart, take turns. Every verdict must be the same as with one clock.
func TestWorkerPoint45_ClockSkewDoesNotChangeVerdicts(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

		play := func(skew [3]time.Duration) (verdicts []string) {
			s := newOrders(t)
			keep := func(v transitions.Verdict) { verdicts = append(verdicts, v.String()) }
			on := func(machine int) {
				s.reconfigure(func(c *transitions.Config) {
					c.Journal, c.Now = s.mode, func() time.Time { return base.Add(skew[machine]) }
				})
			}
			on(0)
			s.place(t, "o-1")

			for turn, r := range []transitions.Request{
				keyed("o-1", workflow.Hold, "a"), keyed("o-1", workflow.Release, "b"), keyed("o-1", workflow.Hold, "a"),
				given("o-1", workflow.Pay, 7), given("o-1", workflow.Cancel, 5), given("o-1", workflow.Pay, 7),
				keyed("o-1", workflow.Expire, "late"), given("o-1", workflow.Ship, 8), keyed("o-1", workflow.Release, "b"),
			} {
				on(turn % 3)

				result, err := s.Apply(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				keep(result.Verdict)
			}
			s.place(t, "o-2")

			for turn, event := range []string{"e-1", "e-2", "e-1", "e-3", "e-2"} {
				on(turn % 3)

				result, err := s.AddItems(t.Context(), edit("o-2", event), cup)
				if err != nil {
					t.Fatal(err)
				}
				keep(result.Verdict)
			}

			order, _, err := s.Get(t.Context(), "o-1")
			if err != nil || order.State != workflow.Shipped || order.TransitionID != 8 {
				t.Errorf("%v: %+v, %v", skew, order, err)
			}

			return verdicts
		}
		want := play([3]time.Duration{})
		for _, skew := range [][3]time.Duration{{0, 5 * time.Minute, -5 * time.Minute}, {5 * time.Minute, -5 * time.Minute, 0}, {-5 * time.Minute, 0, 5 * time.Minute}} {
			if diff := cmp.Diff(want, play(skew)); diff != "" {
				t.Errorf("clocks %v (-one clock +these):\n%s", skew, diff)
			}
		}
	})
}

// TestReplayedAfterAThousandLaterTransitions repeats requests of every kind long after
// the ring has lost them.
func TestReplayedAfterAThousandLaterTransitions(t *testing.T) {
	last := transitions.TransitionID(1006)
	if testing.Short() {
		last = 106
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		var now map[string]types.AttributeValue
		step := func(r transitions.Request, want transitions.Verdict) transitions.Result {
			t.Helper()

			result := s.want(t, r, want)
			if old := now; want == transitions.Applied {
				now = s.Item(t, "o-1")
				shop.Record(t, s.Orders, old, now)
			}

			return result
		}
		s.place(t, "o-1")
		now = s.Item(t, "o-1")
		shop.Record(t, s.Orders, nil, now)
		both := transitions.Request{OrderID: "o-1", Event: workflow.Ship, TransitionID: 4, RequestID: "both"}
		pay := step(keyed("o-1", workflow.Pay, "assigned"), transitions.Applied).Transition
		shipped := step(both, transitions.Applied).Transition
		delivered := step(given("o-1", workflow.Deliver, 5), transitions.Applied).Transition
		step(given("o-1", workflow.Cancel, 3), transitions.Superseded) // the gap

		for id := transitions.TransitionID(6); id < last; id += 2 {
			step(given("o-1", workflow.RequestReturn, id), transitions.Applied)
			step(given("o-1", workflow.RejectReturn, id+1), transitions.Applied)
		}
		sameTransition(t, step(keyed("o-1", workflow.Pay, "assigned"), transitions.Replayed).Transition, pay)
		sameTransition(t, step(both, transitions.Replayed).Transition, shipped)
		sameTransition(t, step(given("o-1", workflow.Deliver, 5), transitions.Replayed).Transition, delivered)
		step(given("o-1", workflow.Cancel, 3), transitions.Superseded)
		step(given("o-1", workflow.Cancel, 5), transitions.Conflict)
		step(keyed("o-1", workflow.Ship, "assigned"), transitions.Conflict)
		step(given("o-1", workflow.Pay, 2), transitions.Superseded) // that id was assigned
		step(keyed("o-1", workflow.RequestReturn, "new"), transitions.Applied)
	})
}
