package transitions_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// onAClock opens the orders on a machine whose clock is ahead of the service's.
func (s *orders) onAClock(service *embeddedtest.Clock, ahead time.Duration) {
	s.reconfigure(func(c *transitions.Config) {
		c.Journal = s.mode
		c.Now = func() time.Time { return service.Now().Add(ahead) }
		c.DynamoDB = dynamodb.New(s.DB.Options(), func(o *dynamodb.Options) {
			// The steps that an engine in the same process leaves out read the Date.
			o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: service.Now}
		})
	})
}

// entered reads the order and checks when it has entered its state.
func (s *orders) entered(t testing.TB, want time.Time) {
	t.Helper()

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if got := order.EnteredAt(); got.Sub(want).Abs() > 2*time.Second {
		t.Errorf("%s %d: entered at %s, want %s", order.State, order.TransitionID, got, want)
	}
}

// TestTheTimeOfEnteringIsTheServices: whatever the clock of the machine says, and in every kind of write. A
// transition into the same state does not enter it, however many follow.
func TestTheTimeOfEnteringIsTheServices(t *testing.T) {
	for _, ahead := range []time.Duration{-9 * time.Hour, 0, 5 * time.Hour} {
		inBothModes(t, func(t *testing.T, newOrders maker) {
			var service embeddedtest.Clock
			s := newOrders(t)
			s.onAClock(&service, ahead)

			step := func(do func()) time.Time {
				service.Advance(time.Hour)
				do()

				return service.Now()
			}
			apply := func(event workflow.Event, id transitions.TransitionID) func() {
				return func() { s.want(t, given("o-1", event, id), transitions.Applied) }
			}

			s.entered(t, step(func() { s.place(t, "o-1") }))
			s.entered(t, step(apply(workflow.Pay, 2)))

			at := step(apply(workflow.ShipPart, 3))
			s.entered(t, at)

			for n := range transitions.TransitionID(2 * ringSize) {
				step(apply(workflow.ShipPart, 4+n))
			}
			s.entered(t, at)

			step(func() {
				s.want(t, keyed("o-1", workflow.ShipPart, "k"), transitions.Applied)
			})
			s.entered(t, at)
			s.entered(t, step(apply(workflow.Ship, 100)))
		})
	}
}

// TestTheTimeOfEnteringComesBack: a restored order has the time that its journal proves, not that of the
// order before or of the newest transition.
func TestTheTimeOfEnteringComesBack(t *testing.T) {
	for name, early := range map[string]func(item map[string]types.AttributeValue) map[string]types.AttributeValue{
		"an order that is behind": func(item map[string]types.AttributeValue) map[string]types.AttributeValue { return item },
		"no order":                func(map[string]types.AttributeValue) map[string]types.AttributeValue { return nil },
	} {
		var service embeddedtest.Clock
		s := newOrdersIn(t, transitions.JournalTransactional)
		s.onAClock(&service, 0)
		s.place(t, "o-1")
		old := early(s.Item(t, "o-1"))

		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		service.Advance(time.Hour)
		s.want(t, given("o-1", workflow.ShipPart, 3), transitions.Applied)

		at := service.Now()
		for n := range transitions.TransitionID(2 * ringSize) {
			service.Advance(time.Hour)
			s.want(t, given("o-1", workflow.ShipPart, 4+n), transitions.Applied)
		}

		if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: map[string]types.AttributeValue{"orderId": text("o-1")}}); err != nil {
			t.Fatal(err)
		}

		if old != nil {
			if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: old}); err != nil {
				t.Fatal(err)
			}
		}

		if r := s.restored(t, true); !r.Written {
			t.Fatalf("%s: not restored", name)
		}
		s.entered(t, at)
	}
}

// TestAMigrationEntersAStateIfItRenamesIt, and only then.
func TestAMigrationEntersAStateIfItRenamesIt(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for _, held := range []bool{true, false} {
			var service embeddedtest.Clock
			s := newOrders(t)
			s.runs(t, 1)
			s.place(t, "o-1")

			if held {
				s.want(t, given("o-1", "hold", 2), transitions.Applied)
			}
			at := time.Now()

			service.Set(at.Add(time.Hour))
			s.reconfigure(func(c *transitions.Config) {
				c.Journal, c.Definition, c.Now = s.mode, renamed(t, 2), service.Now
			})

			order, _, err := s.Get(t.Context(), "o-1")
			if err != nil {
				t.Fatal(err)
			}

			if _, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || !moved {
				t.Fatalf("%t, %v", moved, err)
			}

			if held {
				at = service.Now()
			}
			s.entered(t, at)
		}
	})
}

// TestAnotherProgramsMoveHasNoTimeOfEntering: the attribute that it leaves is that of an earlier state.
func TestAnotherProgramsMoveHasNoTimeOfEntering(t *testing.T) {
	var service embeddedtest.Clock
	s := newOrders(t)
	s.onAClock(&service, 0)
	s.place(t, "o-1")

	at := service.Now().Add(time.Hour).Truncate(time.Millisecond)
	s.put(t, "orderState", text("PAYMENT_RECEIVED"))
	s.put(t, "updatedAt", num(int(at.UnixMilli())))
	s.entered(t, at)
}

// TestAMoveIntoTheSameStateIsDecidedOnTheOrder: one write cannot be both, so the write that does not know the
// order leaves this state out, and the order that refuses it costs no read.
func TestAMoveIntoTheSameStateIsDecidedOnTheOrder(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	for id, want := range [][]string{3: {"UpdateItem"}, 4: {"UpdateItem", "UpdateItem"}} {
		if want == nil {
			continue
		}
		s.Wire.Reset()
		s.want(t, given("o-1", workflow.ShipPart, transitions.TransitionID(id)), transitions.Applied)

		if calls := s.Wire.Calls(); !slices.Equal(calls, want) {
			t.Errorf("transition %d: %v, want %v", id, calls, want)
		}
	}
}

// TestARestorationLeavesPartsOfAnotherProgramAlone, also those that a transition sets.
func TestARestorationLeavesPartsOfAnotherProgramAlone(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	early := s.history(t, "o-1")
	list := types.AttributeValue(&types.AttributeValueMemberL{})
	names := []string{"updatedAt", "enteredAt", "previousState"}

	for _, name := range names {
		early[name] = list
	}

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: early}); err != nil {
		t.Fatal(err)
	}

	if r := s.restored(t, true); !r.Written {
		t.Fatal("not restored")
	}

	for _, name := range names {
		if v := s.Item(t, "o-1")[name]; fmt.Sprintf("%T", v) != fmt.Sprintf("%T", list) {
			t.Errorf("%s is a %T", name, v)
		}
	}
}
