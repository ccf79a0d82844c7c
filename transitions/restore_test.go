package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// history places an order, applies more transitions than its ring holds, and returns the
// item as it was after the first few of them.
func (s *orders) history(t testing.TB, id transitions.OrderID) (early map[string]types.AttributeValue) {
	t.Helper()
	s.place(t, id)
	s.want(t, keyed(id, workflow.Hold, "h"), transitions.Applied)
	s.want(t, given(id, workflow.Release, 4), transitions.Applied) // a gap
	early = s.Item(t, id)
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit(id, "e"), cup))
	narrowed := given(id, workflow.Pay, 5)
	narrowed.From = workflow.Pending
	s.want(t, narrowed, transitions.Applied)

	for n := range 9 {
		s.want(t, given(id, workflow.ShipPart, transitions.TransitionID(n+6)), transitions.Applied)
	}

	return early
}

// restored restores the order o-1.
func (s *orders) restored(t testing.TB, write bool) transitions.Restoration {
	t.Helper()

	r, err := s.Restore(t.Context(), "o-1", write)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

// sound checks that Verify finds nothing and that old requests keep their verdicts.
func (s *orders) sound(t testing.TB) {
	t.Helper()

	if err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
		if len(c.Findings) > 0 {
			t.Errorf("after restoring: %+v", c.Findings)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.want(t, keyed("o-1", workflow.Hold, "h"), transitions.Replayed)
	s.want(t, given("o-1", workflow.Pay, 3), transitions.Superseded)
	s.want(t, given("o-1", workflow.ShipPart, 14), transitions.Replayed)
	s.want(t, given("o-1", workflow.Ship, 14), transitions.Conflict)
	s.want(t, given("o-1", workflow.Ship, 15), transitions.Applied)
}

func TestAnOrderThatIsBehindItsJournalIsBroughtForward(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	early := s.history(t, "o-1")
	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: early}); err != nil {
		t.Fatal(err) // the orders, but not the journal, come from a backup
	}

	r := s.restored(t, false)
	if r.Written || r.Rows != 13 || r.State != workflow.PartiallyShipped || r.TransitionID != 14 || r.Order.TransitionID != 4 || len(r.Lost) > 0 {
		t.Errorf("dry run: %+v", r)
	}

	if order, _, _ := s.Get(t.Context(), "o-1"); order.TransitionID != 4 {
		t.Errorf("the dry run wrote: %+v", order)
	}

	if r = s.restored(t, true); !r.Written {
		t.Errorf("%+v", r)
	}

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || order.State != workflow.PartiallyShipped || order.TransitionID != 14 || len(order.Items) != 1 || order.ContentVersion != 0 {
		t.Errorf("want the state and id of the journal and the content of the backup: %+v, %v", order, err)
	}
	s.sound(t)
}

func TestAMissingOrderComesBackWithoutItsContent(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	key := map[string]types.AttributeValue{"orderId": s.history(t, "o-1")["orderId"]}
	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: key}); err != nil {
		t.Fatal(err)
	}

	lost := s.Wire.Inject(embeddedtest.LoseAnswer(moves...).Next(1))
	r := s.restored(t, true)
	if !r.Written || r.Order != nil || len(r.Lost) == 0 || lost.Strikes() != 1 {
		t.Errorf("%+v", r)
	}

	order, found, err := s.Get(t.Context(), "o-1")
	if err != nil || !found || order.State != workflow.PartiallyShipped || len(order.Items) != 0 {
		t.Errorf("%+v, %v", order, err)
	}

	if result, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}}); err != nil || result.Verdict != transitions.Conflict {
		t.Errorf("placing it again: %s, %v", result.Verdict, err)
	}
	s.sound(t)
}

// TestRestoreNeverMovesAnOrderBack: Restore must not change an order that is not behind its
// journal, or that moves meanwhile.
func TestRestoreNeverMovesAnOrderBack(t *testing.T) {
	s := newOrders(t) // nothing writes this journal
	s.place(t, "o-1")

	if _, err := s.Restore(t.Context(), "o-1", true); !errors.Is(err, transitions.ErrNothingToRestore) {
		t.Errorf("an order ahead of its journal: %v", err)
	}

	if _, err := s.Restore(t.Context(), "missing", true); !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("no order, no journal: %v", err)
	}

	s = newOrdersIn(t, transitions.JournalTransactional)
	early := s.history(t, "o-1")
	if _, err := s.Restore(t.Context(), "o-1", true); !errors.Is(err, transitions.ErrNothingToRestore) {
		t.Errorf("an order that agrees with its journal: %v", err)
	}

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: early}); err != nil {
		t.Fatal(err)
	}
	moved := false

	s.Wire.Before(func(c *embeddedtest.Call) error {
		if !moved && c.Is(moves...) {
			moved = true // the edit passes through here as well
			edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "late"), cup))
		}

		return nil
	})

	if r, err := s.Restore(t.Context(), "o-1", true); !errors.Is(err, transitions.ErrContended) || r.Written {
		t.Errorf("an order that changes meanwhile: %+v, %v", r, err)
	}
}

func TestABrokenJournalRestoresNothing(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	early := s.history(t, "o-1")
	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: early}); err != nil {
		t.Fatal(err)
	}

	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.JournalTable), Key: map[string]types.AttributeValue{
		"orderId": early["orderId"], "entry": &types.AttributeValueMemberS{Value: s.entry(t, "o-1", "9")}}}); err != nil {
		t.Fatal(err)
	}

	r, err := s.Restore(t.Context(), "o-1", true)
	var chain *transitions.JournalError
	if !errors.As(err, &chain) || chain.At != 10 || r.Written {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAnyHistoryIsRestoredFromAnyMoment gives an order a random history (given and
// assigned ids, gaps, edits, parcels, a change of version), puts back its item of some
// moment, and restores it. The order must agree with its journal, and every applied request
// must be Replayed with the same transition.
func TestAnyHistoryIsRestoredFromAnyMoment(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	newer := workflow.Order().Spec()
	newer.Version = 2

	next, err := workflow.New(newer)
	if err != nil {
		t.Fatal(err)
	}

	m, err := workflow.NewMigrations([]*workflow.Definition{workflow.Order(), next}, []workflow.Migration{{From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := transitions.OrderID(fmt.Sprint("o-", n))
		s.reconfigure(func(c *transitions.Config) { c.Journal = s.mode })
		s.place(t, id)

		moments := []map[string]types.AttributeValue{s.Item(t, id)}
		applied := map[transitions.TransitionID]transitions.Request{}
		for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			order, _, err := s.Get(t.Context(), id)
			if err != nil {
				rt.Fatal(err)
			}

			switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
			case kind == 0:
				_, err = s.AddItems(t.Context(), edit(id, fmt.Sprint("e-", i)), cup)
			case kind == 1:
				p := parcel(fmt.Sprint("p-", i), pieces("mug", 1))
				p.OrderID = id
				_, err = s.ShipParcel(t.Context(), p)
			case kind == 2 && order.DefinitionVersion == 1:
				s.reconfigure(func(c *transitions.Config) { c.Journal, c.Definition = s.mode, next })
				_, _, err = s.Migrate(t.Context(), m, order, transitions.Cause{})
			default:
				events := s.Definition().Events()

				r := given(id, rapid.SampledFrom(events).Draw(rt, "event"), order.TransitionID+transitions.TransitionID(rapid.IntRange(1, 4).Draw(rt, "gap")))
				if rapid.Bool().Draw(rt, "keyed") {
					r.TransitionID, r.RequestID = 0, transitions.RequestID(fmt.Sprint("r-", i))
				}

				var result transitions.Result
				if result, err = s.Apply(t.Context(), r); result.Verdict == transitions.Applied {
					applied[result.Transition.ID] = r
				}
			}

			if err != nil {
				rt.Fatal(err)
			}
			moments = append(moments, s.Item(t, id))
		}

		want, _, err := s.Get(t.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}

		back := rapid.SampledFrom(moments).Draw(rt, "backup")
		if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: back}); err != nil {
			rt.Fatal(err)
		}

		r, err := s.Restore(t.Context(), id, true)
		if err != nil && !errors.Is(err, transitions.ErrNothingToRestore) || r.State != want.State || r.TransitionID != want.TransitionID || r.DefinitionVersion != want.DefinitionVersion {
			rt.Fatalf("%+v, %v; want %+v", r, err, want.Position())
		}

		for transition, request := range applied {
			if again := s.want(t, request, transitions.Replayed); again.Transition.ID != transition {
				rt.Errorf("%+v is now transition %d", request, again.Transition.ID)
			}
		}
	})

	if err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
		if len(c.Findings) > 0 {
			t.Errorf("order %s: %+v", c.OrderID, c.Findings)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
