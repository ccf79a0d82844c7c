package inspect_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/operate/inspect"
	"ratchet/payments"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// elsewhere returns the moments that say that the order was paid elsewhere.
func elsewhere(t *testing.T, s *orders, id transitions.OrderID, here bool) (moments []inspect.Moment) {
	t.Helper()

	e, err := inspect.Explain(t.Context(), s.Orders, id)
	if err != nil {
		t.Fatal(err)
	}

	all, _, unread := e.Timeline(t.Context(), s.Definition(), inspect.Around{
		Payment: func(context.Context, *transitions.Order) (payments.Payment, bool, error) {
			return payments.Payment{}, here, nil
		},
	})
	if len(unread) > 0 {
		t.Error(unread)
	}

	return slices.DeleteFunc(all, func(m inspect.Moment) bool { return m.Ref.Status != "elsewhere" })
}

// TestAnImportedOrderWasPaidElsewhere: the time line says so and verify counts it, unless it came here unpaid.
func TestAnImportedOrderWasPaidElsewhere(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)

	for id, state := range map[transitions.OrderID]workflow.State{"paid": workflow.Shipped, "open": workflow.Pending, "canceled": workflow.Cancelled} {
		r, err := s.Import(t.Context(), transitions.Import{NewOrder: shop.Mugs(id, 1), State: state})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}

		want := 0
		if id == "paid" {
			want = 1
		}

		if got := elsewhere(t, s, id, false); len(got) != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
	s.want(t, given("open", workflow.Pay, 2), transitions.Applied)

	if got := elsewhere(t, s, "open", false); len(got) != 1 || got[0].Ref.Transition != 2 {
		t.Errorf("paid by another caller: %+v", got)
	}

	if got := elsewhere(t, s, "open", true); len(got) != 0 {
		t.Errorf("with a payment here: %+v", got)
	}

	paid := map[transitions.OrderID]bool{}
	err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
		if paid[c.OrderID] = c.Elsewhere; len(c.Findings) > 0 {
			t.Errorf("%s: %+v", c.OrderID, c.Findings)
		}

		return nil
	})
	if err != nil || !paid["paid"] || paid["open"] || paid["canceled"] {
		t.Errorf("verify counts %v, %v", paid, err)
	}
}

// TestAMoveByOthersIsExplained, until the order is brought in. The journal then has no gap.
func TestAMoveByOthersIsExplained(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	if _, err := s.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(shop.OrdersTable), Key: s.Orders.Mapping().ItemKey("o-1"), UpdateExpression: aws.String("SET orderState = :s"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: "SHIPPED"}},
	}); err != nil {
		t.Fatal(err)
	}

	e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
	if err != nil || !strings.Contains(e.Note, "another program has moved the order from PAYMENT_RECEIVED to SHIPPED") {
		t.Errorf("%q, %v", e.Note, err)
	}

	if r, err := s.Adopt(t.Context(), e.Order, transitions.Cause{}); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	if e, err = inspect.Explain(t.Context(), s.Orders, "o-1"); err != nil || e.Note != "" || e.Missing != "" || len(e.Steps) != 3 {
		t.Errorf("%+v, %v", e, err)
	}

	if got := s.verify(t)["o-1"]; len(got) > 0 {
		t.Errorf("verify finds %v", got)
	}
}
