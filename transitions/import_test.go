package transitions_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func imported(id transitions.OrderID, state workflow.State) transitions.Import {
	return transitions.Import{NewOrder: shop.Mugs(id, 2), State: state, CreatedAt: time.UnixMilli(1_700_000_000_000).UTC()}
}

func (s *orders) wantImport(t *testing.T, i transitions.Import, want transitions.Verdict, reason string) transitions.Result {
	t.Helper()

	r, err := s.Import(t.Context(), i)
	if err != nil || r.Verdict != want || !strings.Contains(r.Reason, reason) {
		t.Fatalf("import as %s: %s (%s), %v; want %s (%s)", i.State, r.Verdict, r.Reason, err, want, reason)
	}

	return r
}

// others writes an item as another program does: with a state and attributes of its own alone.
func (s *orders) others(t *testing.T, id transitions.OrderID, state workflow.State) {
	t.Helper()

	item := s.Orders.Mapping().ItemKey(id)
	item[s.attribute("orderState")], item["shelf"] = text(string(state)), text("a 7")

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: item}); err != nil {
		t.Fatal(err)
	}
}

// movesAside sets the state as another program does, without a transition.
func (s *orders) movesAside(t *testing.T, id transitions.OrderID, state workflow.State) {
	t.Helper()

	if _, err := s.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(shop.OrdersTable), Key: s.Orders.Mapping().ItemKey(id), UpdateExpression: aws.String("SET #s = :s"),
		ExpressionAttributeNames: map[string]string{"#s": s.attribute("orderState")}, ExpressionAttributeValues: map[string]types.AttributeValue{":s": text(string(state))},
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *orders) attribute(field string) string {
	m := s.Orders.Mapping()
	return cmp.Or(m.Attributes[field], m.Prefix+field)
}

// journaled writes the row of the newest transition, unless the transition has written it, and compares the last row.
func (s *orders) journaled(t *testing.T, old, now map[string]types.AttributeValue, want transitions.Transition) {
	t.Helper()

	if s.mode == transitions.JournalByStream {
		shop.Record(t, s.Orders, old, now)
	}

	rows, err := s.History(t.Context(), "o-1", 0, 0)
	if err != nil || len(rows) == 0 {
		t.Fatal(rows, err)
	}

	if last := rows[len(rows)-1]; last.ID != want.ID || last.Event != workflow.Imported || last.From != want.From || last.To != want.To {
		t.Errorf("the journal ends with %+v, want %+v", last, want)
	}
}

// TestAnImportIsRepeatable in every mapping: the same order is Replayed, also when it has moved on here, and another
// state or content is refused by name.
func TestAnImportIsRepeatable(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		paid := imported("o-1", workflow.PaymentReceived)

		r := s.wantImport(t, paid, transitions.Applied, "")
		if o := r.Order; o.State != workflow.PaymentReceived || o.TransitionID != 1 || r.Transition.Event != workflow.Imported || !o.CreatedAt.Equal(paid.CreatedAt) || len(o.Items) != 1 {
			t.Errorf("imported %+v", o)
		}
		s.journaled(t, nil, s.Item(t, "o-1"), transitions.Transition{ID: 1, To: workflow.PaymentReceived})

		s.wantImport(t, paid, transitions.Replayed, "")
		s.wantImport(t, imported("o-1", workflow.Shipped), transitions.Conflict, "imported as PAYMENT_RECEIVED, not as SHIPPED")

		other := paid
		other.Customer = "c-2"
		s.wantImport(t, other, transitions.Conflict, "other content")

		if r, err := s.Create(t.Context(), paid.NewOrder); err != nil || r.Verdict != transitions.Conflict {
			t.Errorf("a placing of an imported order is %s, %v", r.Verdict, err)
		}

		s.want(t, given("o-1", workflow.Ship, 2), transitions.Applied)
		s.want(t, given("o-1", workflow.Ship, 2), transitions.Replayed)
		s.wantImport(t, paid, transitions.Replayed, "")

		s.place(t, "o-2")
		s.wantImport(t, imported("o-2", workflow.Pending), transitions.Conflict, "exists here and is PENDING")
	})
}

// TestAnImportOfAnItemKeepsIt: an item that has only a state gets a transitionId if the import names this state.
func TestAnImportOfAnItemKeepsIt(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.others(t, "o-1", workflow.Shipped)
		before := s.Item(t, "o-1")

		s.wantImport(t, imported("o-1", workflow.Pending), transitions.Conflict, "the table says that the order is SHIPPED, the import PENDING")
		s.wantImport(t, imported("o-1", workflow.Shipped), transitions.Applied, "")
		after := s.Item(t, "o-1")

		for name, value := range before {
			if fmt.Sprint(after[name]) != fmt.Sprint(value) {
				t.Errorf("attribute %s has changed", name)
			}
		}
		s.journaled(t, before, after, transitions.Transition{ID: 1, To: workflow.Shipped})
		s.wantImport(t, imported("o-1", workflow.Shipped), transitions.Replayed, "")
		s.want(t, given("o-1", workflow.Deliver, 2), transitions.Applied)
	})
}

// TestAnImportOfAnItemKeepsWhenItCameToItsState, as the item says it, else the import: the timers of the state go on.
func TestAnImportOfAnItemKeepsWhenItCameToItsState(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.others(t, "o-1", workflow.Shipped)

		order := imported("o-1", workflow.Shipped)
		order.EnteredAt = time.Now().Add(-90 * 24 * time.Hour).Truncate(time.Millisecond)
		s.wantImport(t, order, transitions.Applied, "")

		read, _, err := s.Get(t.Context(), "o-1")
		if err != nil || !read.EnteredAt().Equal(order.EnteredAt) {
			t.Errorf("it has entered its state at %s, want %s: %v", read.EnteredAt(), order.EnteredAt, err)
		}
	})
}

// TestOneOfManyImportsIsApplied: the others are Replayed.
func TestOneOfManyImportsIsApplied(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for _, there := range []bool{false, true} {
			s := newOrders(t)
			if there {
				s.others(t, "o-1", workflow.Shipped)
			}

			var applied, replayed atomic.Int64
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					switch r, err := s.Import(t.Context(), imported("o-1", workflow.Shipped)); {
					case err != nil:
						t.Error(err)
					case r.Verdict == transitions.Applied:
						applied.Add(1)
					case r.Verdict == transitions.Replayed:
						replayed.Add(1)
					}
				})
			}
			group.Wait()

			if applied.Load() != 1 || replayed.Load() != 7 {
				t.Errorf("%d applied, %d replayed", applied.Load(), replayed.Load())
			}
		}
	})
}

// TestALostAnswerOfAnImportIsResolved: the call that has made the write says so.
func TestALostAnswerOfAnImportIsResolved(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.others(t, "o-2", workflow.Shipped)
		s.withoutRetries(t, 8)

		s.lose(2)
		s.wantImport(t, imported("o-1", workflow.Shipped), transitions.Applied, "")

		order, _, err := s.Get(t.Context(), "o-2")
		if err != nil {
			t.Fatal(err)
		}
		s.lose(2)

		if r, err := s.Adopt(t.Context(), order, transitions.Cause{}); err != nil || r.Verdict != transitions.Applied {
			t.Errorf("%s, %v", r.Verdict, err)
		}
	})
}

// TestAnImportIsChecked: an unknown state is refused, and so is content that the definition does not have.
func TestAnImportIsChecked(t *testing.T) {
	s := newOrders(t)

	for want, i := range map[string]transitions.Import{
		`state "PAID"`:   imported("o-1", "PAID"),
		"total.currency": {NewOrder: transitions.NewOrder{ID: "o-1"}, State: workflow.Shipped},
		"orderId":        imported("", workflow.Shipped),
		"enteredAt":      {NewOrder: shop.Mugs("o-1", 1), State: workflow.Shipped, EnteredAt: time.UnixMilli(-1)},
	} {
		if _, err := s.Import(t.Context(), i); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestAMoveByOthersIsSeenAndBroughtIn: no request is answered as if it had made it, and the journal goes on without
// a gap when the order is brought in.
func TestAMoveByOthersIsSeenAndBroughtIn(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		record := func(old map[string]types.AttributeValue) map[string]types.AttributeValue {
			now := s.Item(t, "o-1")
			if s.mode == transitions.JournalByStream {
				shop.Record(t, s.Orders, old, now)
			}

			return now
		}
		placed := record(nil)
		s.want(t, keyed("o-1", workflow.Pay, "pay-1"), transitions.Applied)
		paid := record(placed)

		s.movesAside(t, "o-1", workflow.Shipped)
		aside := s.Item(t, "o-1")

		if id, moved := s.Orders.Mapping().MovedByOther(paid, aside); !moved || id != "o-1" {
			t.Errorf("the record shows %q, %t", id, moved)
		}

		if _, moved := s.Orders.Mapping().MovedByOther(placed, paid); moved {
			t.Error("a transition counts as a move by others")
		}

		order, _, err := s.Get(t.Context(), "o-1")
		if left, moved := order.MovedByOther(); err != nil || !moved || left != workflow.PaymentReceived {
			t.Errorf("moved from %q, %t, %v", left, moved, err)
		}

		for _, r := range []transitions.Request{keyed("o-1", workflow.Ship, "ship-1"), given("o-1", workflow.Ship, 3)} {
			s.want(t, r, transitions.WrongState)
		}
		s.wantImport(t, imported("o-1", workflow.Shipped), transitions.Conflict, "another program has moved the order from PAYMENT_RECEIVED to SHIPPED")

		r, err := s.Adopt(t.Context(), order, transitions.Cause{Text: "the old worker", Actor: "cli:ada"})
		if err != nil || r.Verdict != transitions.Applied || r.Transition.From != workflow.PaymentReceived || r.Order.PreviousState != workflow.PaymentReceived {
			t.Fatalf("%s (%s), %+v, %v", r.Verdict, r.Reason, r.Transition, err)
		}
		s.journaled(t, aside, s.Item(t, "o-1"), transitions.Transition{ID: 3, From: workflow.PaymentReceived, To: workflow.Shipped})

		if _, moved := r.Order.MovedByOther(); moved {
			t.Error("it is still moved by others")
		}

		// By the order as it was read before, and as it is now.
		for _, seen := range []*transitions.Order{order, r.Order} {
			if r, err := s.Adopt(t.Context(), seen, transitions.Cause{}); err != nil || r.Verdict != transitions.Replayed {
				t.Errorf("again: %s (%s), %v", r.Verdict, r.Reason, err)
			}
		}
		s.want(t, keyed("o-1", workflow.Pay, "pay-1"), transitions.Replayed)
		s.want(t, keyed("o-1", workflow.Deliver, "d"), transitions.Applied)

		// The repeat of an import does not answer for it, either.
		s.wantImport(t, imported("o-2", workflow.PaymentReceived), transitions.Applied, "")
		s.movesAside(t, "o-2", workflow.Shipped)
		s.wantImport(t, imported("o-2", workflow.PaymentReceived), transitions.Conflict, "another program has moved the order")

		if r, err := s.Adopt(t.Context(), order, transitions.Cause{}); err != nil || r.Verdict != transitions.Superseded {
			t.Errorf("of an order that has moved: %s, %v", r.Verdict, err)
		}
	})
}

// TestAnOrderIsBroughtInAsItWasRead: another move in between refuses the write.
func TestAnOrderIsBroughtInAsItWasRead(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.others(t, "o-1", workflow.Shipped)

		read, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		s.movesAside(t, "o-1", workflow.Delivered)

		before := s.Item(t, "o-1")
		if r, err := s.Adopt(t.Context(), read, transitions.Cause{}); err != nil || r.Verdict != transitions.Superseded {
			t.Errorf("%s, %v", r.Verdict, err)
		}

		if after := s.Item(t, "o-1"); !maps.EqualFunc(before, after, func(a, b types.AttributeValue) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("the item has changed: %v", after)
		}
	})
}

// TestForeignPartsStayWhenAnOrderIsBroughtIn: attributes of another program keep their types.
func TestForeignPartsStayWhenAnOrderIsBroughtIn(t *testing.T) {
	for name, value := range foreignParts() {
		s := newOrders(t)
		item := map[string]types.AttributeValue{"orderId": text("o-1"), "orderState": text("SHIPPED"), name: value}

		if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: item}); err != nil {
			t.Fatal(err)
		}

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if r, err := s.Adopt(t.Context(), order, transitions.Cause{Text: "here"}); err != nil || r.Verdict != transitions.Applied {
			t.Errorf("%s: %s, %v", name, r.Verdict, err)
		}

		if after := s.Item(t, "o-1"); fmt.Sprintf("%T", after[name]) != fmt.Sprintf("%T", value) {
			t.Errorf("%s: was a %T, is a %T", name, value, after[name])
		}
	}
}

// TestRequestsAreKeptWhenAnOrderIsBroughtIn: a request that leaves the ring for an import is still Replayed.
func TestRequestsAreKeptWhenAnOrderIsBroughtIn(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, keyed("o-1", workflow.Pay, "pay-1"), transitions.Applied)

		for n := range ringSize {
			s.movesAside(t, "o-1", []workflow.State{workflow.Shipped, workflow.Delivered}[n%2])

			order, _, err := s.Get(t.Context(), "o-1")
			if err != nil {
				t.Fatal(err)
			}

			if r, err := s.Adopt(t.Context(), order, transitions.Cause{}); err != nil || r.Verdict != transitions.Applied {
				t.Fatal(n, r.Verdict, r.Reason, err)
			}
		}
		s.want(t, keyed("o-1", workflow.Pay, "pay-1"), transitions.Replayed)
	})
}
