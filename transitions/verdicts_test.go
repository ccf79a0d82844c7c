package transitions_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// seen returns an IfMatch.
func seen(id transitions.TransitionID) *transitions.TransitionID { return &id }

// sameTransition compares the exported fields of two transitions.
func sameTransition(t *testing.T, got, want transitions.Transition) {
	t.Helper()

	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(transitions.Transition{})); diff != "" {
		t.Errorf("transition (-want +got):\n%s", diff)
	}
}

func TestAppliedMovesTheOrderAndRecordsIt(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")

		result := s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		if result.Order.State != workflow.PaymentReceived || result.Order.TransitionID != 2 || result.Order.PreviousState != workflow.Pending {
			t.Errorf("order %+v", result.Order)
		}

		if tr := result.Transition; tr.ID != 2 || tr.From != workflow.Pending || tr.To != workflow.PaymentReceived || tr.Event != workflow.Pay || tr.At.IsZero() {
			t.Errorf("transition %+v", tr)
		}

		recent := result.Order.Recent()
		if len(recent) != 2 || recent[0].Event != workflow.Place || recent[1].Event != workflow.Pay {
			t.Errorf("the item remembers %+v", recent)
		}
	})
}

func TestReplayedReturnsTheSameResultHoweverLate(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		for name, request := range map[string]transitions.Request{
			"id given":    given("o-1", workflow.Pay, 2),
			"id assigned": keyed("o-1", workflow.Pay, "r-1"),
			"both":        {OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, RequestID: "r-1"},
			"if-match":    {OrderID: "o-1", Event: workflow.Pay, RequestID: "r-1", IfMatch: seen(1)},
		} {
			t.Run(name, func(t *testing.T) {
				s := newOrders(t)
				s.place(t, "o-1")
				first := s.want(t, request, transitions.Applied)
				sameTransition(t, s.want(t, request, transitions.Replayed).Transition, first.Transition)
				s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)
				s.want(t, given("o-1", workflow.Deliver, 4), transitions.Applied)
				late := s.want(t, request, transitions.Replayed)
				sameTransition(t, late.Transition, first.Transition)

				if late.Order.State != workflow.Delivered {
					t.Errorf("a replay must show the order as it is now, got %s", late.Order.State)
				}
			})
		}
	})
}

func TestSupersededStaysSuperseded(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 5), transitions.Applied)

		for range 2 {
			result := s.want(t, given("o-1", workflow.Cancel, 3), transitions.Superseded)
			if result.Order.TransitionID != 5 {
				t.Errorf("the result must show the order as it is now: %+v", result.Order)
			}
		}
		s.want(t, given("o-1", workflow.Ship, 6), transitions.Applied)
		s.want(t, given("o-1", workflow.Cancel, 3), transitions.Superseded)
	})
}

func TestAnExecutionOvertakenByAnAssignedIdIsSuperseded(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, keyed("o-1", workflow.Cancel, "customer"), transitions.Applied) // takes id 2

		result := s.want(t, given("o-1", workflow.Pay, 2), transitions.Superseded)
		if result.Order.State != workflow.Cancelled {
			t.Errorf("the result must show where the order is: %+v", result.Order)
		}
	})
}

func TestWrongStateSaysActualAndExpectedAndRecordsNothing(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")

		before := s.Item(t, "o-1")
		for _, r := range []transitions.Request{given("o-1", workflow.Ship, 2), keyed("o-1", workflow.Ship, "r")} {
			result := s.want(t, r, transitions.WrongState)
			if result.Order.State != workflow.Pending {
				t.Errorf("actual state %s", result.Order.State)
			}

			if diff := cmp.Diff([]workflow.State{workflow.PaymentReceived, workflow.PartiallyShipped}, result.Expected); diff != "" {
				t.Errorf("expected states (-want +got):\n%s", diff)
			}
		}

		if diff := cmp.Diff(before, s.Item(t, "o-1"), cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
			types.AttributeValueMemberM{}, types.AttributeValueMemberL{}, types.AttributeValueMemberB{})); diff != "" {
			t.Errorf("a refusal changed the item:\n%s", diff)
		}
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)
	})
}

func TestFromNarrowsTheEvent(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		r := given("o-1", workflow.Cancel, 2)

		r.From = workflow.PaymentReceived
		result := s.want(t, r, transitions.WrongState)
		if diff := cmp.Diff([]workflow.State{workflow.PaymentReceived}, result.Expected); diff != "" {
			t.Errorf("expected states (-want +got):\n%s", diff)
		}
		r.From = workflow.Pending
		s.want(t, r, transitions.Applied)
	})
}

func TestWorkerPoint26_TheSameIDWithOtherContentIsAConflict(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.want(t, given("o-1", workflow.Cancel, 2), transitions.Conflict)
		s.want(t, keyed("o-1", workflow.Ship, "r"), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Deliver, "r"), transitions.Conflict)
		two := given("o-1", workflow.Deliver, 4)
		two.RequestID = "a"
		s.want(t, two, transitions.Applied)
		two.RequestID = "b"
		s.want(t, two, transitions.Conflict)
	})
}

func TestNotFoundAndIllegal(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.want(t, given("missing", workflow.Pay, 2), transitions.NotFound)
		s.want(t, keyed("missing", workflow.Pay, "r"), transitions.NotFound)
		s.want(t, given("missing", "no_such_event", 2), transitions.Illegal)
		r := given("missing", workflow.Cancel, 2)
		r.From = workflow.Shipped
		s.want(t, r, transitions.Illegal)
	})
}

func TestTheTargetOfAnEventFollowsTheState(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

		result := s.want(t, given("o-1", workflow.Hold, 3), transitions.Applied)
		if result.Order.State != workflow.PaidOnHold || result.Transition.From != workflow.PaymentReceived {
			t.Errorf("a paid order is held as paid: %+v", result.Transition)
		}

		if back := s.want(t, given("o-1", workflow.Release, 4), transitions.Applied); back.Order.State != workflow.PaymentReceived {
			t.Errorf("release returns it to %s", back.Order.State)
		}
	})
}

func TestCreateIsOncePerContent(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		order := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}
		for i, want := range []transitions.Verdict{transitions.Applied, transitions.Replayed} {
			result, err := s.Create(t.Context(), order)
			if err != nil || result.Verdict != want || result.Transition.ID != placeID {
				t.Errorf("call %d: %+v, error %v, want %s", i, result, err, want)
			}
		}

		order.Total.Amount = 6
		if result, err := s.Create(t.Context(), order); err != nil || result.Verdict != transitions.Conflict {
			t.Errorf("other content: %s, error %v", result.Verdict, err)
		}
	})
}

func TestAnOrderCreatedByAnotherProgramIsAdopted(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		_, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
			"orderId": &types.AttributeValueMemberS{Value: "foreign"}, "orderState": &types.AttributeValueMemberS{Value: "PENDING"}}})
		if err != nil {
			t.Fatal(err)
		}
		s.want(t, given("foreign", workflow.Pay, 1), transitions.Applied)
		s.want(t, given("foreign", workflow.Pay, 1), transitions.Replayed)
		s.want(t, keyed("foreign", workflow.Ship, "r"), transitions.Applied)
	})
}

// TestAnOrderMovedByAnotherProgramIsAdopted: the ids before our first transition have no
// rows in the journal, so missing rows must not be ErrJournalBehind.
func TestAnOrderMovedByAnotherProgramIsAdopted(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		now := map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"},
			"orderState": &types.AttributeValueMemberS{Value: "PAYMENT_RECEIVED"}, "transitionId": &types.AttributeValueMemberN{Value: "5"}}
		if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: now}); err != nil {
			t.Fatal(err)
		}
		step := func(r transitions.Request) {
			t.Helper()
			s.want(t, r, transitions.Applied)
			old := now
			now = s.Item(t, "o-1")
			shop.Record(t, s.Orders, old, now)
		}
		s.want(t, given("o-1", workflow.ShipPart, 5), transitions.Superseded) // the order stands at 5, and its ring does not say why
		step(keyed("o-1", workflow.ShipPart, "first"))

		for id := transitions.TransitionID(7); id < 20; id++ {
			step(given("o-1", workflow.ShipPart, id))
		}
		step(keyed("o-1", workflow.ShipPart, "new")) // nowhere in the journal
		s.want(t, keyed("o-1", workflow.ShipPart, "first"), transitions.Replayed)
		s.want(t, given("o-1", workflow.ShipPart, 3), transitions.Superseded)

		if err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
			if len(c.Findings) > 0 {
				t.Errorf("%+v", c.Findings)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}

		if e, err := inspect.Explain(t.Context(), s.Orders, "o-1"); err != nil || e.Missing != "" || e.Steps[0].ID != 6 {
			t.Errorf("%+v, %v", e.Steps[0], err)
		}
	})
}

func TestIfMatchRefusesWhatTheCallerHasNotSeen(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		r := keyed("o-1", workflow.Cancel, "r")
		r.IfMatch = seen(1)
		s.want(t, r, transitions.Superseded)

		for _, ahead := range []transitions.TransitionID{3, 8, 9} { // from 9 on, the order is read first
			r.IfMatch = seen(ahead)
			s.want(t, r, transitions.Conflict)
		}

		r.IfMatch = seen(2)
		s.want(t, r, transitions.Applied)
	})
}

func TestInvalidRequestsNameTheField(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		rows := []struct {
			request transitions.Request
			field   string
		}{
			{transitions.Request{Event: "pay", TransitionID: 1}, "orderId"},
			{transitions.Request{OrderID: "a\nb", Event: "pay", TransitionID: 1}, "orderId"},
			{transitions.Request{OrderID: transitions.OrderID(strings.Repeat("x", 257)), Event: "pay", TransitionID: 1}, "orderId"},
			{transitions.Request{OrderID: "o", TransitionID: 1}, "event"},
			{transitions.Request{OrderID: "o", Event: "pay"}, "transitionId and requestId"},
			{transitions.Request{OrderID: "o", Event: "pay", TransitionID: -1}, "transitionId"},
			{transitions.Request{OrderID: "o", Event: "pay", TransitionID: math.MaxInt64}, "transitionId"},
			{transitions.Request{OrderID: "o", Event: "pay", RequestID: "r", IfMatch: seen(math.MaxInt64)}, "ifMatch"},
			{transitions.Request{OrderID: "o", Event: "pay", RequestID: "ü"}, "requestId"},
			{transitions.Request{OrderID: "o", Event: "pay", TransitionID: 1, IfMatch: seen(1)}, "ifMatch"},
			{transitions.Request{OrderID: "o", Event: workflow.Place, TransitionID: 1}, "Create"},
		}
		for _, row := range rows {
			_, err := s.Apply(t.Context(), row.request)
			if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), row.field) {
				t.Errorf("%+v: got %v, want an invalid request that names %s", row.request, err, row.field)
			}
		}
	})
}

// TestAUsedRequestIDIsNotAppliedUnderAnotherID: a retry with another If-Match or with
// another id is still the same request.
func TestAUsedRequestIDIsNotAppliedUnderAnotherID(t *testing.T) {
	t.Run("with a table of requests", func(t *testing.T) { usedRequestID(t, true) })
	t.Run("without", func(t *testing.T) { usedRequestID(t, false) })
}

func usedRequestID(t *testing.T, requests bool) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		if !requests {
			s.forgetRequests()
		}
		s.place(t, "o-1")
		images := []map[string]types.AttributeValue{nil, s.Item(t, "o-1")}
		apply := func(r transitions.Request) transitions.Result {
			t.Helper()
			result := s.want(t, r, transitions.Applied)
			images = append(images, s.Item(t, "o-1"))
			return result
		}
		apply(given("o-1", workflow.Pay, 2))
		r := keyed("o-1", workflow.ShipPart, "k")
		r.IfMatch = seen(2)
		first := apply(r)
		r.IfMatch = seen(3)
		sameTransition(t, s.want(t, r, transitions.Replayed).Transition, first.Transition)
		r.IfMatch, r.TransitionID = nil, 7
		sameTransition(t, s.want(t, r, transitions.Replayed).Transition, first.Transition)
		r.Event = workflow.Ship
		s.want(t, r, transitions.Conflict)

		for id := transitions.TransitionID(4); id < 14; id++ {
			apply(given("o-1", workflow.ShipPart, id))
		}

		r.Event, r.TransitionID, r.IfMatch = workflow.ShipPart, 0, seen(13)
		if s.mode == transitions.JournalByStream && !requests {
			if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrJournalBehind) {
				t.Errorf("in neither ring nor journal: got %v, want ErrJournalBehind", err)
			}

			for i := 1; i < len(images); i++ {
				shop.Record(t, s.Orders, images[i-1], images[i])
			}
		}
		sameTransition(t, s.want(t, r, transitions.Replayed).Transition, first.Transition)
		r.IfMatch, r.TransitionID = nil, 14
		sameTransition(t, s.want(t, r, transitions.Replayed).Transition, first.Transition)
	})
}
