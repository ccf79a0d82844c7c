package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// verify returns Verify's findings, by order.
func (s *orders) verify(t testing.TB) map[transitions.OrderID][]inspect.FindingKind {
	t.Helper()

	found := map[transitions.OrderID][]inspect.FindingKind{}
	if err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
		kinds := []inspect.FindingKind{}
		for _, f := range c.Findings {
			kinds = append(kinds, f.Kind)
			if f.Detail == "" || f.Advice == "" || strings.Contains(f.Advice, "ORDER") || f.Kind == inspect.FindingBehind && f.Since.IsZero() {
				t.Errorf("a finding says nothing: %+v", f)
			}
		}
		slices.Sort(kinds)
		found[c.OrderID] = slices.Compact(kinds)

		return nil
	}); err != nil {
		t.Fatal(err)
	}

	return found
}

// TestVerifyFindsEveryDisagreement damages one order for each kind of finding.
func TestVerifyFindsEveryDisagreement(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	set := func(table string, key map[string]types.AttributeValue, update string, value types.AttributeValue) {
		t.Helper()

		in := &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &update}
		if value != nil {
			in.ExpressionAttributeValues = map[string]types.AttributeValue{":v": value}
		}

		if _, err := s.DB.UpdateItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	order := func(id string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}}
	}
	row := func(id, n string) map[string]types.AttributeValue {
		o, _, err := s.Get(t.Context(), transitions.OrderID(id))
		if err != nil || o == nil {
			t.Fatal(o, err)
		}

		return map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}, "entry": &types.AttributeValueMemberS{Value: fmt.Sprintf("%s#%016s", o.Incarnation, n)}}
	}

	drop := func(id, n string) {
		t.Helper()

		if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.JournalTable), Key: row(id, n)}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	want := map[transitions.OrderID][]inspect.FindingKind{}
	for _, damage := range []struct {
		id     string
		finds  []inspect.FindingKind
		damage func(id string)
	}{
		{"sound", []inspect.FindingKind{}, func(string) {}},
		{"edited", []inspect.FindingKind{}, func(id string) {
			_, _ = s.AddNote(t.Context(), transitions.Edit{OrderID: transitions.OrderID(id), EventID: "e"}, transitions.Note{Text: "x"})
		}},
		{"behind", []inspect.FindingKind{inspect.FindingBehind}, func(id string) { drop(id, "3") }},
		{"broken", []inspect.FindingKind{inspect.FindingBroken}, func(id string) { drop(id, "2") }},
		{"ahead", []inspect.FindingKind{inspect.FindingAhead, inspect.FindingState, inspect.FindingRing}, func(id string) {
			set(shop.OrdersTable, order(id), "SET transitionId = :v", &types.AttributeValueMemberN{Value: "2"})
		}},
		{"moved", []inspect.FindingKind{inspect.FindingMoved}, func(id string) { set(shop.OrdersTable, order(id), "SET orderState = :v", text("SHIPPED")) }},
		{"previous", []inspect.FindingKind{inspect.FindingState}, func(id string) { set(shop.OrdersTable, order(id), "REMOVE previousState", nil) }},
		{"ring", []inspect.FindingKind{inspect.FindingRing}, func(id string) {
			set(shop.OrdersTable, order(id), "SET recent.r2 = :v", &types.AttributeValueMemberB{Value: []byte("1234567890123456")})
		}},
		{"illegal", []inspect.FindingKind{inspect.FindingIllegal, inspect.FindingState}, func(id string) {
			set(shop.JournalTable, row(id, "3"), "SET toState = :v", text("DELIVERED"))
		}},
		{"unreadable-order", []inspect.FindingKind{inspect.FindingUnreadable}, func(id string) {
			set(shop.OrdersTable, order(id), "SET orderState = :v", &types.AttributeValueMemberN{Value: "7"})
		}},
		{"unreadable-row", []inspect.FindingKind{inspect.FindingUnreadable}, func(id string) {
			set(shop.JournalTable, row(id, "3"), "SET toState = :v", &types.AttributeValueMemberN{Value: "7"})
		}},
	} {
		s.place(t, transitions.OrderID(damage.id))
		s.want(t, given(transitions.OrderID(damage.id), workflow.Hold, 2), transitions.Applied)
		s.want(t, keyed(transitions.OrderID(damage.id), workflow.Cancel, "r"), transitions.Applied)
		damage.damage(damage.id)
		slices.Sort(damage.finds)
		want[transitions.OrderID(damage.id)] = damage.finds
	}
	got := s.verify(t)
	delete(want, "illegal") // the ring differs, too

	if kinds := got["illegal"]; !slices.Contains(kinds, inspect.FindingIllegal) {
		t.Errorf("illegal: %v", kinds)
	}
	delete(got, "illegal")

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestVerifyTellsLagFromLoss(t *testing.T) {
	s := newOrders(t)
	s.ToAndFro(t, s.Orders, "lag", 10, 4)
	s.ToAndFro(t, s.Orders, "loss", 30, 4)

	want := map[transitions.OrderID][]inspect.FindingKind{"lag": {inspect.FindingBehind}, "loss": {inspect.FindingGap}}
	if diff := cmp.Diff(want, s.verify(t)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}

	enough := errors.New("enough")
	if err := inspect.Verify(t.Context(), s.Orders, func(inspect.Check) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of the caller ends it: %v", err)
	}
}

// TestVerifyOverManyPages looks at more orders than one page holds, while they move.
func TestVerifyOverManyPages(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	for i := range 250 {
		s.place(t, transitions.OrderID(fmt.Sprintf("o-%d", i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	moved := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := transitions.OrderID(fmt.Sprintf("o-%d", i%250))
			event := workflow.Hold
			if (i/250)%2 == 1 {
				event = workflow.Release
			}

			if _, err := s.Apply(ctx, given(id, event, transitions.TransitionID(2+i/250))); err != nil && ctx.Err() == nil {
				moved <- err
				return
			}
		}
		moved <- nil
	}()
	seen := 0
	err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
		if seen++; len(c.Findings) > 0 {
			t.Errorf("order %s moves, and is sound: %+v", c.OrderID, c.Findings)
		}
		return nil
	})
	stop()

	if moving := <-moved; err != nil || moving != nil || seen != 250 {
		t.Errorf("%d orders, errors %v, %v", seen, err, moving)
	}
}

func TestVerifyNeedsAJournal(t *testing.T) {
	s := newOrders(t)
	s.Orders = s.Shop.Orders(func(c *transitions.Config) { c.JournalTable = "" })

	if err := inspect.Verify(t.Context(), s.Orders, nil); err == nil || !strings.Contains(err.Error(), "journal table") {
		t.Errorf("got %v", err)
	}
}
