package transitions_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// moved places and pays order o-1, and holds and releases it six times. It returns the images
// before and after each transition.
func (s *orders) moved(t *testing.T) (images []map[string]types.AttributeValue) {
	t.Helper()
	s.place(t, "o-1")
	images = append(images, nil, s.Item(t, "o-1"))

	for id, event := range []workflow.Event{workflow.Pay, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold,
		workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release} {
		s.want(t, given("o-1", event, transitions.TransitionID(id+2)), transitions.Applied)
		images = append(images, s.Item(t, "o-1"))
	}

	return images
}

// recordVersions writes the journal rows of the versions.
func (s *orders) recordVersions(t *testing.T, versions []transitions.PastVersion) {
	t.Helper()

	for _, v := range versions {
		c, moved, err := transitions.Mapping{}.FromRecord(v.Old, v.New)
		if err != nil || !moved || c.Transition.ID != v.Transition.ID || c.Transition.From != v.Transition.From || c.New.State != v.Transition.To {
			t.Fatalf("version %+v is read as %+v, %t, %v", v.Transition, c.Transition, moved, err)
		}

		if c.Old != nil && c.Old.State != v.Transition.From {
			t.Errorf("version %d leaves %s, want %s", v.Transition.ID, c.Old.State, v.Transition.From)
		}

		if err := s.Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostRowsCloseTheChain: the journal has three rows, three are lost, and the order's ring
// proves the newest eight.
func TestLostRowsCloseTheChain(t *testing.T) {
	s := newOrders(t)
	s.forgetRequests()
	images := s.moved(t)

	for i := 1; i <= 3; i++ {
		shop.Record(t, s.Orders, images[i-1], images[i])
	}
	lost := given("o-1", workflow.Hold, 5)

	if _, err := s.Apply(t.Context(), lost); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Fatalf("before: %v, want ErrJournalBehind", err)
	}

	versions, complete, err := transitions.Mapping{}.Provable(images[14])
	if err != nil || complete || len(versions) != ringSize || versions[0].Transition.ID != 7 {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}

	for round, want := range []bool{true, false} {
		if closed, err := s.CloseJournal(t.Context(), images[14]); err != nil || closed != want {
			t.Fatalf("close, round %d: %t, %v", round, closed, err)
		}
		s.recordVersions(t, versions)
	}

	if _, err := s.Apply(t.Context(), lost); !errors.Is(err, transitions.ErrEvidenceGone) || transitions.Retryable(err) {
		t.Errorf("a lost transition: %v, want ErrEvidenceGone", err)
	}

	if _, err := s.madeBy(t, "o-1", workflow.Pay); !errors.Is(err, transitions.ErrEvidenceGone) {
		t.Errorf("all payments: %v, want ErrEvidenceGone", err)
	}
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
	s.want(t, given("o-1", workflow.Hold, 7), transitions.Replayed)
	s.want(t, given("o-1", workflow.Hold, 9), transitions.Replayed)
	s.wantWhole(t, images[14])

	// The rows come after all.
	for i := 4; i <= 6; i++ {
		shop.Record(t, s.Orders, images[i-1], images[i])
		s.wantWhole(t, images[14])
	}
	s.want(t, lost, transitions.Replayed)

	if paid, err := s.madeBy(t, "o-1", workflow.Pay); err != nil || len(paid) != 1 || paid[0].ID != 2 {
		t.Errorf("payments %v, %v", paid, err)
	}
}

// wantWhole checks that the journal is an unbroken chain that ends as the item says.
func (s *orders) wantWhole(t *testing.T, item map[string]types.AttributeValue) {
	t.Helper()

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	var facts transitions.Facts
	if err := facts.Rebuild(s.RowsOf(t.Context(), "o-1", 0)); err != nil {
		t.Error(err)
	}

	if facts.State != order.State || facts.TransitionID != order.TransitionID || facts.PreviousState != order.PreviousState {
		t.Errorf("the journal ends with %+v, the order with %+v", facts, order)
	}

	for id, difference := range facts.RingDifferences(order) {
		t.Errorf("transition %d: %s", id, difference)
	}

	versions, _, err := s.Journaled(t.Context(), item)
	if err != nil || len(versions) == 0 || versions[len(versions)-1].Transition.ID != order.TransitionID {
		t.Errorf("versions %v, %v", versions, err)
	}
}

// TestAnOrderProvesAllOfItsTransitions: nothing has left its ring, or its journal has all.
func TestAnOrderProvesAllOfItsTransitions(t *testing.T) {
	s := newOrders(t)
	images := s.moved(t)

	versions, complete, err := transitions.Mapping{}.Provable(images[5])
	if err != nil || !complete || len(versions) != 5 || versions[0].Old != nil {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}
	s.recordVersions(t, versions)

	for i := 6; i <= 14; i++ {
		shop.Record(t, s.Orders, images[i-1], images[i])
	}

	versions, complete, err = s.Journaled(t.Context(), images[14])
	if err != nil || !complete || len(versions) != 14 || versions[0].Old != nil {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}
	s.recordVersions(t, versions)
	s.wantWhole(t, images[14])

	if closed, err := s.CloseJournal(t.Context(), images[14]); err != nil || closed {
		t.Errorf("a whole journal was closed: %t, %v", closed, err)
	}
}

// TestAJournalWithoutAnyRowIsClosed: the stream was never read.
func TestAJournalWithoutAnyRowIsClosed(t *testing.T) {
	s := newOrders(t)
	images := s.moved(t)

	versions, _, err := s.Journaled(t.Context(), images[14])
	if err != nil || len(versions) != ringSize {
		t.Fatalf("%d versions, %v", len(versions), err)
	}

	if closed, err := s.CloseJournal(t.Context(), images[14]); err != nil || !closed {
		t.Fatalf("%t, %v", closed, err)
	}
	s.recordVersions(t, versions)
	s.wantWhole(t, images[14])
}

// TestVersionsOfAnOrderThatAnotherProgramHasMoved: the journal does not know by which event.
func TestVersionsOfAnOrderThatAnotherProgramHasMoved(t *testing.T) {
	s := newOrders(t)
	s.foreign(t, "o-1", workflow.Pending)
	placed := s.Item(t, "o-1")
	s.putOn(t, "o-1", "orderState", &types.AttributeValueMemberS{Value: string(workflow.PaymentReceived)})
	s.putOn(t, "o-1", "transitionId", num(4))
	paid := s.Item(t, "o-1")
	shop.Record(t, s.Orders, placed, paid)

	s.want(t, given("o-1", workflow.Hold, 5), transitions.Applied)
	held := s.Item(t, "o-1")
	shop.Record(t, s.Orders, paid, held)

	versions, _, err := s.Journaled(t.Context(), held)
	if err != nil || len(versions) != 2 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	s.recordVersions(t, versions)
}

// TestAnEarlierVersionHasTheRingOfItsTime: a slot has nothing of the transition before in it,
// neither its request id nor the state that it left.
func TestAnEarlierVersionHasTheRingOfItsTime(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	images := []map[string]types.AttributeValue{nil, s.Item(t, "o-1")}

	for n := 2; n <= 20; n++ {
		r := part("", transitions.TransitionID(n))
		if n == 2 {
			r.Event = workflow.Pay
		}

		if n < 10 || n == 15 {
			r.RequestID = transitions.RequestID(fmt.Sprint("k-", n))
		}
		s.want(t, r, transitions.Applied)
		images = append(images, s.Item(t, "o-1"))
	}

	// Another program moves the order, and leaves neither a trace nor the state before.
	s.put(t, "orderState", text(string(workflow.Shipped)))
	s.put(t, "transitionId", num(26))

	item := s.Item(t, "o-1")
	delete(item, "previousState")
	images = append(images, item)

	for i := 1; i < len(images); i++ {
		shop.Record(t, s.Orders, images[i-1], images[i])
	}

	versions, complete, err := s.Journaled(t.Context(), item)
	if err != nil || !complete || len(versions) != len(images)-1 {
		t.Fatalf("%d versions, complete %t, %v", len(versions), complete, err)
	}

	for i, v := range versions[:20] {
		got, _, err := transitions.Mapping{}.FromRecord(v.Old, v.New)
		want, _, errWant := transitions.Mapping{}.FromRecord(images[i], images[i+1])

		var facts transitions.Facts
		if err := errors.Join(err, errWant, facts.Rebuild(s.upTo(t, v.Transition.ID))); err != nil {
			t.Fatal(err)
		}

		for id, difference := range facts.RingDifferences(got.New) {
			t.Errorf("version %d, transition %d: %s", i+1, id, difference)
		}

		if diff := cmp.Diff(want.New.Recent(), got.New.Recent(), cmpopts.IgnoreUnexported(transitions.Transition{})); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", i+1, diff)
		}
	}

	last, _, err := transitions.Mapping{}.FromRecord(versions[20].Old, versions[20].New)
	if err != nil || last.Transition.ID != 26 || last.Transition.From != "" || last.New.State != workflow.Shipped {
		t.Errorf("%+v, %v", last.Transition, err)
	}
}

// upTo returns the rows of the order's journal up to the id.
func (s *orders) upTo(t *testing.T, last transitions.TransitionID) iter.Seq2[transitions.Row, error] {
	return func(yield func(transitions.Row, error) bool) {
		for row, err := range s.RowsOf(t.Context(), "o-1", 0) {
			if row.ID > last || !yield(row, err) {
				return
			}
		}
	}
}
