package transitions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"ratchet/transitions"
	"ratchet/workflow"
)

// reads are the operations that read an order or its evidence.
var reads = []string{"GetItem", "Query", "BatchGetItem", "TransactGetItems"}

// TestWorkerPoint20_ACanceledCallBlocksNoOrder: a call whose context ends, before or during its write,
// leaves an order that moves on.
func TestWorkerPoint20_ACanceledCallBlocksNoOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		ctx, cancel := context.WithCancel(t.Context())
		s.beforeMoves(1, cancel)

		if _, err := s.Apply(ctx, given("o-1", workflow.Pay, 2)); err == nil {
			t.Error("a call whose context ended during its write has no error")
		}

		if _, err := s.Apply(ctx, given("o-1", workflow.Pay, 2)); err == nil {
			t.Error("a call whose context had ended has no error")
		}

		r, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2))
		if err != nil || !r.Verdict.Done() {
			t.Errorf("%s, %v; want that the order is paid", r.Verdict, err)
		}
		s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)
	})
}

// TestWorkerPoint22_ATransitionToTheSameStateIsRecorded: it has an id and evidence of its own, and so a
// repeat of it differs from a second one.
func TestWorkerPoint22_ATransitionToTheSameStateIsRecorded(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.paid(t, "o-1")
		s.want(t, given("o-1", workflow.ShipPart, 3), transitions.Applied)
		again := given("o-1", workflow.ShipPart, 4)

		r := s.want(t, again, transitions.Applied)
		if r.Transition.From != workflow.PartiallyShipped || r.Transition.To != workflow.PartiallyShipped || r.Order.TransitionID != 4 || !r.Order.Remembers(4) {
			t.Errorf("%+v of %+v", r.Transition, r.Order)
		}
		s.want(t, again, transitions.Replayed)
		s.want(t, given("o-1", workflow.Hold, 5), transitions.WrongState) // no event without a definition for the state
	})
}

// TestWorkerPoint23_OneWriteCarriesStateIDAndEvidence: whatever was written of a transition was written
// by one call. (A transactional journal has its row in the same call, after a read.)
func TestWorkerPoint23_OneWriteCarriesStateIDAndEvidence(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.Wire.Reset()
	s.want(t, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, RequestID: "r"}, transitions.Applied)

	if calls := s.Wire.Calls(); len(calls) != 1 || !slices.Contains(moves, calls[0]) {
		t.Errorf("calls %q, want one write", calls)
	}

	item := s.Item(t, "o-1")
	for name, want := range map[string]types.AttributeValue{
		"orderState":        &types.AttributeValueMemberS{Value: "PAYMENT_RECEIVED"},
		"previousState":     &types.AttributeValueMemberS{Value: "PENDING"},
		"transitionId":      num(2),
		"definitionVersion": num(workflow.Order().Version()),
	} {
		if diff := cmp.Diff(want, item[name], attributes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || !order.Remembers(2) || !order.Recent()[1].IsBy("r") || !order.UpdatedAt.Equal(order.Recent()[1].At) {
		t.Errorf("the evidence is not in the item: %+v, %v", order, err)
	}
}

// TestWorkerPoint24_ARefusalIsJudgedFromTheItemThatItReturned: no read follows a refused write, so no
// later state of the order can decide about it.
func TestWorkerPoint24_ARefusalIsJudgedFromTheItemThatItReturned(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	s.want(t, given("o-1", workflow.Hold, 4), transitions.Applied)

	for name, row := range map[string]struct {
		request transitions.Request
		want    transitions.Verdict
	}{
		"applied before":     {given("o-1", workflow.Pay, 2), transitions.Replayed},
		"superseded":         {given("o-1", workflow.Ship, 3), transitions.Superseded},
		"the same id":        {given("o-1", workflow.Release, 4), transitions.Conflict},
		"in the wrong state": {given("o-1", workflow.Ship, 5), transitions.WrongState},
		"missing":            {given("o-2", workflow.Pay, 2), transitions.NotFound},
	} {
		s.Wire.Reset()
		r := s.want(t, row.request, row.want)

		if n := s.Wire.Count(moves...); n != 1 || s.Wire.Count(reads...) != 0 {
			t.Errorf("%s: %d writes and %d reads, want one write", name, n, s.Wire.Count(reads...))
		}

		if row.want != transitions.NotFound && (r.Order == nil || r.Order.State != workflow.PaidOnHold) {
			t.Errorf("%s: the verdict does not carry the order", name)
		}
	}
}

// TestWorkerPoint25_TheRightStateProvesNothing: the order is where the request wants it, and another
// request brought it there.
func TestWorkerPoint25_TheRightStateProvesNothing(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, keyed("o-1", workflow.Hold, "a"), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Release, "b"), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Pay, "c"), transitions.Applied) // takes id 4

		for name, row := range map[string]struct {
			request transitions.Request
			want    transitions.Verdict
		}{
			"an older id":                {given("o-1", workflow.Pay, 2), transitions.Superseded},
			"an older id, another event": {given("o-1", workflow.Release, 2), transitions.Superseded},
			"another request":            {keyed("o-1", workflow.Pay, "d"), transitions.WrongState},
			"the id, another request":    {transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 4, RequestID: "d"}, transitions.Superseded},
			"a newer id":                 {given("o-1", workflow.Pay, 5), transitions.WrongState},
			"the request itself":         {keyed("o-1", workflow.Pay, "c"), transitions.Replayed},
		} {
			if r, err := s.Apply(t.Context(), row.request); err != nil || r.Verdict != row.want {
				t.Errorf("%s: %s, %v; want %s", name, r.Verdict, err, row.want)
			}
		}
	})
}

// TestWorkerPoint27_ALostRaceIsTriedAgainAndAWrongStateIsNot: another request takes the id between the
// read and the write. If the event is still legal, the next attempt takes the next id.
func TestWorkerPoint27_ALostRaceIsTriedAgainAndAWrongStateIsNot(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for name, row := range map[string]struct {
			first  workflow.Event
			want   transitions.Verdict
			writes int
		}{
			"still legal": {workflow.Hold, transitions.Applied, 2},
			"not legal":   {workflow.Pay, transitions.WrongState, 1},
		} {
			s := newOrders(t)
			s.place(t, "o-1")
			sent := s.beforeMoves(1, func() { s.want(t, keyed("o-1", row.first, "first"), transitions.Applied) })

			// Both states can expire: PENDING, and ON_HOLD; a paid order cannot.
			r := s.want(t, keyed("o-1", workflow.Expire, "second"), row.want)
			if *sent != row.writes || r.Order.TransitionID != transitions.TransitionID(1+row.writes) {
				t.Errorf("%s: %d writes, the order is at %d", name, *sent, r.Order.TransitionID)
			}
		}
	})
}

// TestWorkerPoint38_ParcelsMayLeaveInAnyOrder: the state and the quantities at the end are the same,
// and every repeat is recognized.
func TestWorkerPoint38_ParcelsMayLeaveInAnyOrder(t *testing.T) {
	parcels := []transitions.Parcel{
		parcel("p-1", pieces("mug", 2)), parcel("p-2", pieces("cup", 1)), parcel("p-3", pieces("mug", 1), pieces("cup", 1)),
	}

	var want string
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := newOrders(t)
		s.paid(t, "o-1")

		for n, i := range order {
			r := s.sends(t, parcels[i], transitions.Applied)
			if last := n == len(order)-1; (r.Order.State == workflow.Shipped) != last {
				t.Errorf("%v: after %d parcels the order is %s", order, n+1, r.Order.State)
			}
		}

		for _, i := range order {
			s.sends(t, parcels[i], transitions.Replayed)
		}

		read, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		got := fmt.Sprint(read.State, read.TransitionID, read.Items)
		if want == "" {
			want = got
		}

		if got != want {
			t.Errorf("%v: %s, want %s", order, got, want)
		}
	}
}
