package transitions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Each test of this file lets something happen to the order between two requests of one
// call, and holds one clause of a condition or one bound by it.

// beforeMoves calls meanwhile before each of the next n requests that may move an order.
// What meanwhile sends itself does not count. The result counts the requests.
func (s *orders) beforeMoves(n int, meanwhile func()) (sent *int) {
	sent = new(int)
	busy := false
	s.Wire.Before(func(c *embeddedtest.Call) error {
		if busy || !c.Is(moves...) {
			return nil
		}

		if *sent++; *sent <= n {
			busy = true
			meanwhile()
			busy = false
		}

		return nil
	})

	return sent
}

// makesMap reports whether the call gives an order a map.
func makesMap(c *embeddedtest.Call) bool { return bytes.Contains(c.Body(), []byte(":empty")) }

// foreign stores an order as another program creates it: with a state and nothing else.
func (s *orders) foreign(t testing.TB, id transitions.OrderID, state workflow.State) {
	t.Helper()

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
		"orderId":    &types.AttributeValueMemberS{Value: string(id)},
		"orderState": &types.AttributeValueMemberS{Value: string(state)},
	}}); err != nil {
		t.Fatal(err)
	}
}

// Another program moves the order under the same id, between the read and the write. The
// transition names the state that the order has left, whatever was read.
func TestATransitionLeavesTheStateThatTheOrderWasIn(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.beforeMoves(1, func() { s.put(t, "orderState", &types.AttributeValueMemberS{Value: string(workflow.OnHold)}) })

		r := s.want(t, keyed("o-1", workflow.Cancel, "r"), transitions.Applied)
		if r.Transition.From != workflow.OnHold || r.Order.PreviousState != workflow.OnHold {
			t.Errorf("%+v, previous state %s; want both from ON_HOLD", r.Transition, r.Order.PreviousState)
		}

		if read, _, err := s.Get(t.Context(), "o-1"); err != nil || read.PreviousState != workflow.OnHold {
			t.Errorf("%+v, %v", read, err)
		}
	})
}

// An edit changes the content and not the id. A transactional write computes the order
// after it from the order before it, so that must be the newest one.
func TestATransactionHoldsOnlyForTheContentThatWasRead(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	sent := s.beforeMoves(1, func() { edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup)) })
	result := s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied)

	read, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(read, result.Order, cmpopts.IgnoreUnexported(transitions.Order{}, transitions.Transition{})); diff != "" || *sent != 2 {
		t.Errorf("%d writes; the result's order (+) is not the one in the table (-):\n%s", *sent, diff)
	}
}

// The order moves before every write of the call.
func TestAnOrderThatMovesDuringEveryAttemptIsContended(t *testing.T) {
	const attempts = 3

	for name, call := range map[string]func(*orders, *testing.T) error{
		"id assigned": func(s *orders, t *testing.T) error {
			_, err := s.Apply(t.Context(), keyed("o-1", workflow.ShipPart, "r"))
			return err
		},
		"parcel": func(s *orders, t *testing.T) error {
			_, err := s.ShipParcel(t.Context(), parcel("p-1", pieces("mug", 1)))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, newOrders maker) {
				s := newOrders(t)
				s.paid(t, "o-1")
				s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, attempts })

				id := transitions.TransitionID(2)
				sent := s.beforeMoves(attempts, func() {
					id++
					s.want(t, given("o-1", workflow.ShipPart, id), transitions.Applied)
				})

				if err := call(s, t); !errors.Is(err, transitions.ErrContended) || !transitions.Retryable(err) || *sent != attempts {
					t.Errorf("%d writes, %v; want ErrContended after %d", *sent, err, attempts)
				}
			})
		})
	}
}

// The last write of the call is refused by an order that decides it: the verdict is known,
// and the call does not end in ErrContended.
func TestTheOrderThatRefusedTheLastAttemptIsJudged(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, 1 })
		s.beforeMoves(1, func() { s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied) })
		s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Replayed)
	})
}

// The order is deleted between the read and the write.
func TestAnOrderThatIsGoneIsNotFound(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.beforeMoves(1, func() { s.remove(t, "o-1") })
		s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.NotFound)
	})
}

// Two calls find that the order has no map for its ring. The slower call must not remove the
// slot that the faster call has stored in the map.
func TestAMapThatAnotherCallHasMadeKeepsItsMembers(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.PaymentReceived)

		done := false
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if !done && makesMap(c) {
				done = true
				s.want(t, keyed("o-1", workflow.ShipPart, "faster"), transitions.Applied)
			}

			return nil
		})
		s.want(t, keyed("o-1", workflow.ShipPart, "slower"), transitions.Applied)
		s.want(t, keyed("o-1", workflow.ShipPart, "faster"), transitions.Replayed)
		s.want(t, keyed("o-1", workflow.ShipPart, "slower"), transitions.Replayed)

		if !done {
			t.Error("no call made the map")
		}
	})
}

// Id 9 overwrites the slot of id 1, and id 10 the slot of id 2: with id 10, a request id may be
// forgotten for the first time.
func TestTheFirstRequestIDThatTheRingForgetsIsKnown(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.PaymentReceived)
		now := s.Item(t, "o-1")

		for id := transitions.TransitionID(1); id <= ringSize+1; id++ {
			r := given("o-1", workflow.ShipPart, id)
			if id == 1 {
				r.RequestID = "k"
			}
			s.want(t, r, transitions.Applied)

			old := now
			now = s.Item(t, "o-1")
			shop.Record(t, s.Orders, old, now)
		}

		again := given("o-1", workflow.ShipPart, ringSize+2)
		again.RequestID = "k"

		if r := s.want(t, again, transitions.Replayed); r.Transition.ID != 1 {
			t.Errorf("%+v, want transition 1", r.Transition)
		}
	})
}

// The order is deleted while a call gives it the map for its ring: that must not create an
// order again.
func TestAnOrderThatIsGoneGetsNoMap(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.Pending)

		s.Wire.Before(func(c *embeddedtest.Call) error {
			if makesMap(c) {
				s.remove(t, "o-1")
			}

			return nil
		})

		if r, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "r")); err == nil && r.Verdict != transitions.NotFound {
			t.Errorf("%s", r.Verdict)
		}

		if item := s.Item(t, "o-1"); len(item) > 0 {
			t.Errorf("the order is there again: %v", item)
		}
	})
}

// remove deletes the order.
func (s *orders) remove(t testing.TB, id transitions.OrderID) {
	t.Helper()

	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: string(id)},
	}}); err != nil {
		t.Fatal(err)
	}
}

// The error tells why the context ended.
func TestAnUnknownOutcomeNamesTheCauseOfTheContext(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		shutdown := errors.New("the worker shuts down")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.beforeMoves(1, func() { cancel(shutdown) })

		_, err := s.Apply(ctx, given("o-1", workflow.Pay, 2))
		if !errors.Is(err, transitions.ErrOutcomeUnknown) || !errors.Is(err, shutdown) {
			t.Errorf("got %v, want ErrOutcomeUnknown and the cause", err)
		}
	})
}

// A request whose id is given is sent without a read: whichever slot of the ring holds its
// request id, the condition of the write must find it.
func TestTheConditionFindsARequestIDInEverySlot(t *testing.T) {
	// Each enters another state, so an order that is not known can refuse it only by its ring.
	event := func(id transitions.TransitionID) workflow.Event {
		if id%2 == 1 {
			return workflow.Hold
		}

		return workflow.Release
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		// A later request would read first.
		for keyed := transitions.TransitionID(1); keyed+2 <= ringSize+1; keyed++ {
			order := transitions.OrderID(fmt.Sprint("o-", keyed))
			s.foreign(t, order, workflow.Pending)

			for id := transitions.TransitionID(1); id <= keyed+1; id++ {
				r := given(order, event(id), id)
				if id == keyed {
					r.RequestID = "k"
				}
				s.want(t, r, transitions.Applied)
			}

			again := given(order, event(keyed), keyed+2)
			again.RequestID = "k"

			if r := s.want(t, again, transitions.Replayed); r.Transition.ID != keyed {
				t.Errorf("%+v, want transition %d", r.Transition, keyed)
			}
		}
	})
}

// The call ends in the error of the request that was to give the order its map.
func TestAMapThatCannotBeMadeIsAnError(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.Pending)

		s.Wire.Inject(embeddedtest.Answer("AccessDeniedException").If(makesMap))

		if r, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "r")); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s, %v", r.Verdict, err)
		}
	})
}

// The order comes back from a backup between the read and the write: the pieces are
// counted on the lines that the write meets, not on the lines that were read.
func TestAParcelIsCountedOnTheLinesThatTheWriteMeets(t *testing.T) {
	s := newOrders(t)
	s.paid(t, "o-1")
	backup := s.Item(t, "o-1")
	s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)

	s.beforeMoves(1, func() {
		if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: backup}); err != nil {
			t.Fatal(err)
		}
	})

	if r := s.sends(t, parcel("p-2", pieces("mug", 1)), transitions.Applied); r.Order.Items[0].Shipped != 1 || r.Transition.ID != 3 {
		t.Errorf("%+v, %+v; want one piece shipped with transition 3", r.Transition, r.Order)
	}
}

// A missing order is created again between the read and the write of its restoration.
func TestRestoreKeepsAnOrderThatHasComeBack(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	s.remove(t, "o-1")
	s.beforeMoves(1, func() { s.foreign(t, "o-1", workflow.Pending) })

	if r, err := s.Restore(t.Context(), "o-1", true); !errors.Is(err, transitions.ErrContended) || r.Written {
		t.Errorf("%+v, %v; want ErrContended", r, err)
	}

	if order, _, err := s.Get(t.Context(), "o-1"); err != nil || order.State != workflow.Pending || order.TransitionID != 0 {
		t.Errorf("%+v, %v; want the order that has come back", order, err)
	}
}

// An order of another program has no version, so there is nothing to migrate it from.
func TestAnOrderWithoutAVersionIsNotMigrated(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", "PENDING")
		s.runs(t, 2)

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if after, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || moved || after.TransitionID != 0 {
			t.Errorf("%+v, moved %t, %v; want the order as it was", after, moved, err)
		}
	})
}
