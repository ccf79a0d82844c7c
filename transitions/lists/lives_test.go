package lists_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// before runs do once before the next write of the lists, and checks that there is one.
func (s *orderLists) before(operation string, do func()) (check func()) {
	s.t.Helper()

	done := false
	s.Wire.Before(func(c *embeddedtest.Call) error {
		if c.Is(operation) && bytes.Contains(c.Body(), []byte(shop.ListsTable)) {
			s.Wire.Clear()
			done = true
			do()
		}

		return nil
	})

	return func() {
		s.t.Helper()

		if !done {
			s.t.Error("no write")
		}
	}
}

// TestALateChangeDoesNotRaiseAnotherLife: the id is given to a new order between the read of the head and its write.
func TestALateChangeDoesNotRaiseAnotherLife(t *testing.T) {
	s := newOrderLists(t)
	former := s.place("a", workflow.Hold, workflow.Release)
	s.record(former[0])

	check := s.before("UpdateItem", func() {
		s.deleteOrder("a")
		s.remove(last(former))
		s.customer = "c-2"
		s.record(s.place("a")...)
	})
	s.record(former[2]) // within the state
	check()

	if found := s.rebuild(); found.Corrected+found.Gone+found.Rows != 0 {
		t.Errorf("%+v", found)
	}
}

// TestALateChangeDoesNotReplaceAnotherLife: the id is given to a new order in the millisecond in which the former one
// was placed, between the read of the head and the write of the rows.
func TestALateChangeDoesNotReplaceAnotherLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrderLists(t)
		former := s.place("a", workflow.Hold)
		s.record(former[0])

		check := s.before("TransactWriteItems", func() {
			s.deleteOrder("a")
			s.remove(last(former))
			s.customer = "c-2"
			s.record(s.place("a")...)
		})
		s.record(former[1])
		check()
		s.want("", workflow.OnHold, "")
		s.want("", workflow.Pending, "a")

		if found := s.rebuild(); found.Corrected+found.Gone+found.Rows != 0 {
			t.Errorf("%+v", found)
		}
	})
}

// TestALateChangeDoesNotReplaceAnotherOrderOfAnotherProgram, which gives no incarnation.
func TestALateChangeDoesNotReplaceAnotherOrderOfAnotherProgram(t *testing.T) {
	s := newOrderLists(t)
	plain := func(changes []transitions.Change) []transitions.Change {
		update := dynamo.NewUpdate(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S("a")}).RemoveAttribute("incarnation")
		if _, err := s.DB.UpdateItem(t.Context(), update.Input()); err != nil {
			t.Fatal(err)
		}

		o, _, err := s.orders.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}

		for _, c := range changes {
			c.New.Incarnation = o.Incarnation
		}

		return changes
	}
	former := plain(s.place("a", workflow.Hold))
	s.record(former[0])

	check := s.before("TransactWriteItems", func() {
		s.deleteOrder("a")
		s.remove(former[1].New)
		s.customer = "c-2"
		s.record(plain(s.place("a"))...)
	})
	s.record(former[1])
	check()
	s.want("", workflow.Pending, "a")

	if got := s.ofCustomer("", "c-2", "", 10); got != "a" {
		t.Errorf("of the customer: %q", got)
	}

	if found := s.rebuild(); found.Corrected+found.Gone+found.Rows != 0 {
		t.Errorf("%+v", found)
	}
}

// TestARenewedOrderIsListedInItsPresentLife.
func TestARenewedOrderIsListedInItsPresentLife(t *testing.T) {
	s := newOrderLists(t)
	changes := s.place("a")
	s.record(changes...)

	if renewed, err := s.orders.Renew(t.Context(), changes[0].New); !renewed || err != nil {
		t.Fatal(renewed, err)
	}

	for i, event := range []workflow.Event{workflow.Hold, workflow.Release} {
		r, err := s.orders.Apply(t.Context(), transitions.Request{OrderID: "a", Event: event, TransitionID: transitions.TransitionID(i + 2)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}

		// Only the last one, which is within the state that the lists show.
		if event == workflow.Release {
			s.record(transitions.Change{New: r.Order, Transition: r.Transition})
		}
	}

	if found := s.rebuild(); found.Corrected+found.Gone+found.Rows != 0 {
		t.Errorf("%+v", found)
	}
}

// TestARenewedOrderThatIsDeletedLeavesTheLists, although they show the life before.
func TestARenewedOrderThatIsDeletedLeavesTheLists(t *testing.T) {
	s := newOrderLists(t)
	s.customer = "c-1"
	changes := s.place("a")
	s.record(changes...)

	for range 2 {
		o, _, err := s.orders.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}

		if renewed, err := s.orders.Renew(t.Context(), o); !renewed || err != nil {
			t.Fatal(renewed, err)
		}
	}

	o, _, err := s.orders.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	s.deleteOrder("a")
	s.remove(o)
	s.record(changes...)

	if rows := s.rows(); rows != 1 {
		t.Errorf("%d rows, want the tombstone", rows)
	}
}

// TestARebuildBeginsAgainAfterMissedChanges: the parts that it has read before lack them.
func TestARebuildBeginsAgainAfterMissedChanges(t *testing.T) {
	s := newOrderLists(t)
	s.place("a")
	s.place("b")

	// After the begin and a mark for each of 64 parts of both tables, the last write fails.
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem").From(1 + 2*64 + 1))

	if _, err := s.lists.Rebuild(t.Context(), nil); err == nil {
		t.Fatal("the last write has not failed")
	}
	s.Wire.Clear()

	// A worker without lists handles the change.
	if r, err := s.orders.Apply(t.Context(), transitions.Request{OrderID: "a", Event: workflow.Hold, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	if err := s.lists.Missed(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}

	if found := s.rebuild(); found.Resumed || found.Corrected != 1 {
		t.Errorf("%+v", found)
	}
	s.want("", workflow.OnHold, "a")
}

// put writes a row that no head knows.
func (s *orderLists) put(list, place string) {
	s.t.Helper()

	item := dynamo.Item{"listKey": dynamo.S(list), "placeKey": dynamo.S(place)}
	if _, err := s.DB.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.ListsTable), Item: item}); err != nil {
		s.t.Fatal(err)
	}
}
