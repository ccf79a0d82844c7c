package lists_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// deleteOrder deletes the order's item, as a job for retention does.
func (s *orderLists) deleteOrder(id string) {
	s.t.Helper()

	table := shop.OrdersTable
	if _, err := s.DB.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: dynamo.Item{"orderId": dynamo.S(id)}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *orderLists) remove(last *transitions.Order) {
	s.t.Helper()

	if err := s.lists.Remove(s.t.Context(), last); err != nil {
		s.t.Fatal(err)
	}
}

func last(changes []transitions.Change) *transitions.Order { return changes[len(changes)-1].New }

func TestADeletedOrderLeavesTheLists(t *testing.T) {
	s := newOrderLists(t)
	kept, changes := s.placeFor("c-1", "kept"), s.placeFor("c-1", "a", workflow.Hold)
	s.record(append(kept, changes...)...)
	s.deleteOrder("a")

	for range 2 {
		s.remove(last(changes))
		s.want("", "", "kept")
		s.want("", workflow.OnHold, "")
		s.want("", workflow.Pending, "kept")

		if got := s.ofCustomer("", "c-1", "", 10); got != "kept" {
			t.Errorf("of the customer: %s", got)
		}

		if rows := s.rows(); rows != 5 {
			t.Errorf("%d rows, want 4 of the other order and the tombstone", rows)
		}
	}
}

// The lists lag behind the order in all ways when its deletion is reported, and records
// come again after it.
func TestLateRecordsDoNotListADeletedOrderAgain(t *testing.T) {
	for seed := range uint64(10) {
		s := newOrderLists(t)
		changes := s.placeFor("c-1", "a", workflow.Hold, workflow.Release, workflow.Hold)
		random := rand.New(rand.NewPCG(seed, 0))

		s.record(changes[:random.IntN(len(changes)+1)]...)
		s.deleteOrder("a")
		s.remove(last(changes))

		late := slices.Clone(changes)
		random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
		s.record(late...)

		if rows := s.rows(); rows != 1 {
			t.Errorf("seed %d: %d rows, want only the tombstone", seed, rows)
		}
	}
}

// An id is used again after its order was deleted. The records of both orders are handled in
// their sequence, but each also again.
func TestTheIDOfADeletedOrderIsUsedAgain(t *testing.T) {
	for _, removedFirst := range []bool{true, false} {
		s := newOrderLists(t)
		before := s.placeFor("c-1", "a", workflow.Hold, workflow.Release, workflow.Hold)
		s.record(before...)
		s.deleteOrder("a")

		if removedFirst {
			s.remove(last(before))
		}

		after := s.placeFor("c-2", "a")
		for range 2 {
			s.remove(last(before))
			s.record(before...)
			s.record(after...)
			s.want("", workflow.Pending, "a")
			s.want("", workflow.OnHold, "")
			s.want("", "", "a")

			if one, two := s.ofCustomer("", "c-1", "", 10), s.ofCustomer("", "c-2", "", 10); one != "" || two != "a" {
				t.Errorf("removed first %v: of the former customer %q, of the present one %q", removedFirst, one, two)
			}
		}

		if rows := s.rows(); rows != 4 {
			t.Errorf("removed first %v: %d rows, want 4", removedFirst, rows)
		}
	}
}

func TestLostAnswersDoNotDisturbARemoval(t *testing.T) {
	for _, fault := range []embeddedtest.Fault{
		embeddedtest.LoseAnswer("TransactWriteItems"),
		embeddedtest.LoseRequest("TransactWriteItems"),
		embeddedtest.Answer("ProvisionedThroughputExceededException", "TransactWriteItems", "GetItem"),
	} {
		s := newOrderLists(t)
		changes := s.place("a", workflow.Hold)
		s.record(changes...)
		s.deleteOrder("a")
		fault.Every = 2
		s.Wire.Inject(fault)

		for s.lists.Remove(t.Context(), last(changes)) != nil {
			// The stream gives the record again.
		}
		s.Wire.Clear()

		if rows := s.rows(); rows != 1 {
			t.Errorf("%v: %d rows, want the tombstone", fault.Err, rows)
		}
	}
}

// A tombstone expires. Nothing else does.
func TestOnlyTombstonesExpire(t *testing.T) {
	s := newOrderLists(t)
	const kept = 30 * 24 * time.Hour
	changes := s.place("a", workflow.Hold)
	s.record(changes...)

	expiries := func() (found []int64) {
		table := shop.ListsTable

		out, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			t.Fatal(err)
		}

		for _, item := range out.Items {
			if at := dynamo.Number(item, lists.ExpiryAttribute); at != 0 {
				found = append(found, at)
			}
		}

		return found
	}

	if got := expiries(); got != nil {
		t.Errorf("of a listed order: %v", got)
	}
	s.deleteOrder("a")
	began := time.Now().Add(kept).Unix()
	s.remove(last(changes))

	if got := expiries(); len(got) != 1 || got[0] < began || got[0] > time.Now().Add(kept).Unix() {
		t.Errorf("of a deleted order: %v", got)
	}
	s.record(s.place("a")...)

	if got := expiries(); got != nil {
		t.Errorf("of an order that was placed again: %v", got)
	}
}
