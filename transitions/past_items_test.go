package transitions_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// idsOf returns the ids of the versions' transitions.
func idsOf(versions []transitions.PastVersion) (ids []transitions.TransitionID) {
	for _, v := range versions {
		ids = append(ids, v.Transition.ID)
	}

	return ids
}

// TestVersionsBeginAfterAGap: an order may prove old transitions whose successors are lost. They
// lead to no item that is known.
func TestVersionsBeginAfterAGap(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	images := map[transitions.TransitionID]map[string]types.AttributeValue{1: s.Item(t, "o-1")}
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	images[2] = s.Item(t, "o-1")

	// The id 10 is skipped, so the ring keeps the transition 2.
	given := []transitions.TransitionID{3, 4, 5, 6, 7, 8, 9, 11, 12, 13}
	for i, id := range given {
		s.want(t, transitions.Request{OrderID: "o-1", Event: []workflow.Event{workflow.Hold, workflow.Release}[i%2], TransitionID: id}, transitions.Applied)
		images[id] = s.Item(t, "o-1")
	}
	newest := []transitions.TransitionID{6, 7, 8, 9, 11, 12, 13}

	versions, complete, err := transitions.Mapping{}.Provable(images[13])
	if err != nil || complete || !slices.Equal(idsOf(versions), newest) {
		t.Errorf("the ring proves %v, complete %t, %v", idsOf(versions), complete, err)
	}

	// The journal has the first three rows and the sixth.
	shop.Record(t, s.Orders, nil, images[1])
	shop.Record(t, s.Orders, images[1], images[2])
	shop.Record(t, s.Orders, images[2], images[3])
	shop.Record(t, s.Orders, images[5], images[6])

	versions, complete, err = s.Journaled(t.Context(), images[13])
	if err != nil || complete || !slices.Equal(idsOf(versions), newest) {
		t.Errorf("journal and ring prove %v, complete %t, %v", idsOf(versions), complete, err)
	}

	// The item before the first version stands for the lost transitions.
	before, _, err := transitions.Mapping{}.FromRecord(versions[0].Old, versions[0].New)
	if err != nil || before.Old.TransitionID != 5 || len(before.Old.Recent()) != 1 || before.Old.Recent()[0].Event != transitions.Lost {
		t.Errorf("before the first version: %+v, %v", before.Old, err)
	}
	s.recordVersions(t, versions)

	if row := s.row(t, "o-1", "7"); row["adopted"] != nil {
		t.Errorf("a row of an order of ours is marked as adopted: %v", row)
	}

	if closed, err := s.CloseJournal(t.Context(), images[13]); err != nil || !closed {
		t.Errorf("closed: %t, %v", closed, err)
	}
	s.wantWhole(t, images[13])
}

// TestAJournalIsClosedOnlyWhereRowsAreLost: transitions that the ring still has are not lost, whichever
// way the order came there.
func TestAJournalIsClosedOnlyWhereRowsAreLost(t *testing.T) {
	t.Run("the ring begins where the journal ends", func(t *testing.T) {
		s := newOrders(t)
		images := s.moved(t)

		for id := 1; id <= 4; id++ {
			shop.Record(t, s.Orders, images[id-1], images[id])
		}
		s.putItem(t, images[8])                                         // with the transitions 1 to 8
		s.want(t, given("o-1", workflow.Hold, 20), transitions.Applied) // in the place of 4

		if closed, err := s.CloseJournal(t.Context(), s.Item(t, "o-1")); err != nil || closed {
			t.Errorf("closed: %t, %v", closed, err)
		}
	})

	t.Run("another program has changed the state", func(t *testing.T) {
		s := newOrders(t)
		s.place(t, "o-1")
		shop.Record(t, s.Orders, nil, s.Item(t, "o-1"))
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.put(t, "orderState", text(string(workflow.Shipped)))
		s.want(t, given("o-1", workflow.Deliver, 3), transitions.Applied)

		if closed, err := s.CloseJournal(t.Context(), s.Item(t, "o-1")); err != nil || closed {
			t.Errorf("closed: %t, %v", closed, err)
		}
	})

	t.Run("another program has made all transitions", func(t *testing.T) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.Pending)
		s.put(t, "transitionId", num(4))

		if closed, err := s.CloseJournal(t.Context(), s.Item(t, "o-1")); err != nil || closed {
			t.Errorf("closed: %t, %v", closed, err)
		}
	})

	t.Run("somebody else closes it", func(t *testing.T) {
		s := newOrders(t)
		images := s.moved(t)

		busy := false
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if busy || !c.Is("PutItem") {
				return nil
			}
			busy = true

			if closed, err := s.CloseJournal(t.Context(), images[14]); err != nil || !closed {
				t.Errorf("the other: %t, %v", closed, err)
			}

			return nil
		})

		if closed, err := s.CloseJournal(t.Context(), images[14]); err != nil || closed {
			t.Errorf("closed: %t, %v", closed, err)
		}
	})
}

// putItem replaces the item of an order.
func (s *orders) putItem(t *testing.T, item map[string]types.AttributeValue) {
	t.Helper()

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: item}); err != nil {
		t.Fatal(err)
	}
}

// TestAJournalThatCannotBeClosedIsAnError, and a journal that contradicts itself is not closed.
func TestAJournalThatCannotBeClosedIsAnError(t *testing.T) {
	s := newOrders(t)
	images := s.moved(t)
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem"))

	if closed, err := s.CloseJournal(t.Context(), images[14]); closed || err == nil || !strings.Contains(err.Error(), "close the journal of order o-1: ") {
		t.Errorf("the row is refused: %t, %v", closed, err)
	}
	s.Wire.Clear()
	s.Wire.Inject(embeddedtest.Answer("ServiceUnavailable", "Query"))
	s.withoutRetries(t, 1)

	if closed, err := s.CloseJournal(t.Context(), images[14]); closed || !errors.Is(err, transitions.ErrUnavailable) {
		t.Errorf("the journal does not answer: %t, %v", closed, err)
	}

	if versions, _, err := s.Journaled(t.Context(), images[14]); !errors.Is(err, transitions.ErrUnavailable) {
		t.Errorf("the journal does not answer: %v, %v", idsOf(versions), err)
	}
	s.Wire.Clear()
	shop.Record(t, s.Orders, nil, images[1])
	shop.Record(t, s.Orders, images[1], images[2])
	s.putRow(t, 3, 1, nil)

	if closed, err := s.CloseJournal(t.Context(), images[14]); closed || !errors.Is(err, transitions.ErrJournalBroken) ||
		!strings.Contains(err.Error(), "it follows transition 1, but the row before it is 2") {
		t.Errorf("a journal that contradicts itself: %t, %v", closed, err)
	}
}

// TestAnEarlierItemHasWhatIsKnownOfIt: the state before, and only the newest has a version.
func TestAnEarlierItemHasWhatIsKnownOfIt(t *testing.T) {
	s := newOrders(t)
	s.runs(t, 1)
	s.place(t, "o-1")
	s.want(t, given("o-1", "hold", 2), transitions.Applied)
	s.runs(t, 2)

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if _, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || !moved {
		t.Fatal(moved, err)
	}

	versions, complete, err := transitions.Mapping{}.Provable(s.Item(t, "o-1"))
	if err != nil || !complete || len(versions) != 3 {
		t.Fatalf("%d versions, %t, %v", len(versions), complete, err)
	}

	for i, v := range versions {
		c, _, err := transitions.Mapping{}.FromRecord(v.Old, v.New)
		if err != nil {
			t.Fatal(err)
		}

		if want := []int{0, 0, 2}[i]; c.New.DefinitionVersion != want || (v.New["definitionVersion"] == nil) != (want == 0) {
			t.Errorf("version %d: definition %d, want %d", i, c.New.DefinitionVersion, want)
		}

		if c.New.PreviousState != v.Transition.From || (v.New["previousState"] == nil) != (i == 0) {
			t.Errorf("version %d: after %q, want %q", i, c.New.PreviousState, v.Transition.From)
		}
	}
}

// TestAnOrderOfAnotherProgramHasAnItemBeforeItsFirstTransition, with the id before it.
func TestAnOrderOfAnotherProgramHasAnItemBeforeItsFirstTransition(t *testing.T) {
	s := newOrders(t)
	s.foreign(t, "o-1", workflow.Pending)
	s.put(t, "transitionId", num(4))
	before := s.Item(t, "o-1")
	s.want(t, given("o-1", workflow.Hold, 5), transitions.Applied)
	held := s.Item(t, "o-1")
	shop.Record(t, s.Orders, before, held)

	versions, complete, err := s.Journaled(t.Context(), held)
	if err != nil || !complete || len(versions) != 1 {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}

	c, moved, err := transitions.Mapping{}.FromRecord(versions[0].Old, versions[0].New)
	if err != nil || !moved || c.Old.TransitionID != 4 || c.Old.State != workflow.Pending || len(c.Old.Recent()) != 0 {
		t.Errorf("%+v, %t, %v", c.Old, moved, err)
	}
	s.recordVersions(t, versions)
}
