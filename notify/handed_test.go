package notify_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/notify"
	"ratchet/transitions"
	"ratchet/workflow"
)

// following is a notification right after the one before it.
func following(order string, id int64) notify.Notification {
	n := notice(order, id, "SHIPPED")
	n.Previous = transitions.TransitionID(id - 1)

	return n
}

// reads counts the reads of an order's deliveries that the call makes.
func (h *deliveryHarness) reads(call func()) int {
	before := h.transport.Count("Query")
	call()

	return h.transport.Count("Query") - before
}

// TestADeliveryThatWasSeenEndingIsNotReadAgain: with one endpoint and with several, for notifications that
// nothing wants, too.
func TestADeliveryThatWasSeenEndingIsNotReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("a", func(s *notify.Settings) { s.Filter.States = []workflow.State{"SHIPPED"} })
		d := h.worker(func(c *notify.Config) { c.LookEvery = 1000 * time.Hour })
		defer h.run(d)()

		unwanted := following("o-1", 3)
		unwanted.State = "PENDING"

		if n := h.reads(func() { h.accept(d, following("o-1", 2), unwanted, following("o-1", 4)) }); n != 1 {
			t.Errorf("one endpoint: %d reads", n)
		}

		h.endpoint("b")
		time.Sleep(time.Minute) // until the worker knows it
		synctest.Wait()

		// What is known is known of the first endpoint only.
		if n := h.reads(func() { h.accept(d, following("o-1", 5), following("o-1", 6)) }); n != 1 {
			t.Errorf("two endpoints: %d reads", n)
		}

		if got := len(h.far["a"].keys()); got != 4 || len(h.far["b"].keys()) != 2 {
			t.Errorf("%v, %v", h.far["a"].keys(), h.far["b"].keys())
		}
	})
}

// TestWhatAnotherWorkerHasHandedOverIsRead: it handed over a transition in between, of which this worker
// knows nothing, or the same one.
func TestWhatAnotherWorkerHasHandedOverIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		others []int64 // which the other worker hands over after transition 2
		then   []int64 // which this worker hands over after that
		arrive []string
	}{
		"in between":                  {[]int64{3}, []int64{4}, []string{"2", "3"}},
		"the same, which comes again": {[]int64{3}, []int64{3, 4}, []string{"2", "3"}},
		"all, which come again":       {[]int64{3, 4}, []int64{2, 3, 4}, []string{"2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)
				far := h.endpoint("shop", ordered)
				far.set(0, func(m notify.Message) (notify.Answer, error) {
					if m.TransitionID == 3 {
						return down(m)
					}

					return notify.Answer{Status: 200}, nil
				})

				d, other := h.worker(), h.worker()
				defer h.run(d)()
				defer h.run(other)()
				h.accept(d, following("o-1", 2))

				for _, id := range test.others {
					h.accept(other, following("o-1", id))
				}

				for _, id := range test.then {
					h.accept(d, following("o-1", id))
				}

				var want []string
				for _, id := range test.arrive {
					want = append(want, fmt.Sprintf("o-1/0/%s/notify", id))
				}

				// Transition 4 waits behind 3, which fails.
				if got := far.keys(); !slices.Equal(got, want) {
					t.Errorf("arrived %v, want %v", got, want)
				}
			})
		})
	}
}

// TestWhatWasMissedAndIsSentAgainComesFirst: the resend is requested in another process, and fails at
// first.
func TestWhatWasMissedAndIsSentAgainComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", ordered)
		far.set(0, func(m notify.Message) (notify.Answer, error) {
			if m.TransitionID == 2 {
				return notify.Answer{Status: 400}, fmt.Errorf("%w: not now", notify.ErrRejected)
			}

			return notify.Answer{Status: 200}, nil
		})
		d := h.worker()
		stop := h.run(d)
		h.accept(d, following("o-1", 2), following("o-1", 3))

		if got := h.get(d, "o-1/0/2/shop"); got.Status != notify.Missed {
			t.Fatalf("%+v", got)
		}

		// A process that runs no attempts, like one of the API.
		if _, err := h.worker().Resend(t.Context(), "o-1/0/2/shop"); err != nil {
			t.Fatal(err)
		}
		far.set(0, nil)
		h.accept(d, following("o-1", 4))

		if got := far.keys(); got[len(got)-1] == "o-1/0/4/notify" {
			t.Errorf("arrived %v before what is sent again", got)
		}
		time.Sleep(5 * time.Minute) // more than a lease and a look
		synctest.Wait()
		stop()

		if got := far.keys(); !slices.Equal(got[len(got)-2:], []string{"o-1/0/2/notify", "o-1/0/4/notify"}) {
			t.Errorf("arrived %v", got)
		}
	})
}

// TestWhatWasTakenAndIsSentAgainComesFirst: an ordered endpoint gets nothing while an earlier notification is PENDING,
// also if this worker has handed over everything before.
func TestWhatWasTakenAndIsSentAgainComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop", ordered)
		d := h.worker()
		stop := h.run(d)
		h.accept(d, following("o-1", 2), following("o-1", 3))

		// A process that runs no attempts, like one of the API.
		if _, err := h.worker().Resend(t.Context(), "o-1/0/2/shop"); err != nil {
			t.Fatal(err)
		}
		h.accept(d, following("o-1", 4))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		stop()

		if got, want := far.keys(), []string{"o-1/0/2/notify", "o-1/0/3/notify", "o-1/0/2/notify", "o-1/0/4/notify"}; !slices.Equal(got, want) {
			t.Errorf("arrived %v, want %v", got, want)
		}
	})
}

// TestReplaysAreNotRemembered: a replay hands over again what was handed over before.
func TestReplaysAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker(func(c *notify.Config) { c.LookEvery = 1000 * time.Hour })
		defer h.run(d)()
		h.accept(d, following("o-1", 2))

		again := following("o-1", 3)
		again.Key += "/again-a1"

		if n := h.reads(func() { h.accept(d, again, following("o-1", 3), following("o-1", 4)) }); n != 2 {
			t.Errorf("%d reads", n)
		}
	})
}
