package transitions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestATransactionalJournalIsNeverBehind(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, given("o-1", workflow.Hold, 2), transitions.Applied)
	s.want(t, given("o-1", workflow.Release, 5), transitions.Applied) // a gap

	last := s.want(t, keyed("o-1", workflow.Cancel, "r"), transitions.Applied)
	rows, err := s.History(t.Context(), "o-1", 0, 0)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(last.Order.Recent(), rows, cmpopts.IgnoreUnexported(transitions.Transition{})); diff != "" {
		t.Errorf("the journal (+) differs from the ring (-):\n%s", diff)
	}

	read, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(read, last.Order, cmpopts.IgnoreUnexported(transitions.Order{}, transitions.Transition{})); diff != "" {
		t.Errorf("the result's order (+) is not the one in the table (-):\n%s", diff)
	}
}

// TestTheStreamMayRecordWhatTheTransactionHas: a reader of the stream that records the same
// transitions changes nothing, so that the mode can be switched while workers run.
func TestTheStreamMayRecordWhatTheTransactionHas(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	old := s.Item(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	before := s.row(t, "o-1", "2")
	shop.Record(t, s.Orders, old, s.Item(t, "o-1"))

	if diff := cmp.Diff(before, s.row(t, "o-1", "2"), cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{})); diff != "" {
		t.Errorf("the row changed:\n%s", diff)
	}
	s.reconfigure(func(*transitions.Config) {}) // and back to the stream
	old = s.Item(t, "o-1")
	s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)
	shop.Record(t, s.Orders, old, s.Item(t, "o-1"))

	if rows, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 3 {
		t.Errorf("rows %+v, error %v", rows, err)
	}
}

// entry is the sort key of a row of the order that has the id.
func (s *orders) entry(t testing.TB, order, id string) string {
	t.Helper()

	incarnation, _ := s.Item(t, transitions.OrderID(order))["incarnation"].(*types.AttributeValueMemberS)
	if incarnation == nil {
		return fmt.Sprintf("0#%016s", id)
	}

	return fmt.Sprintf("%s#%016s", incarnation.Value, id)
}

// row reads a row of the journal.
func (s *orders) row(t testing.TB, order, id string) map[string]types.AttributeValue {
	t.Helper()

	out, err := s.DB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(shop.JournalTable), Key: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: order}, "entry": &types.AttributeValueMemberS{Value: s.entry(t, order, id)}}})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

func TestAJournalAheadOfItsOrderIsAnError(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	restored := s.Item(t, "o-1")
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: restored}); err != nil {
		t.Fatal(err) // the orders, but not the journal, come from a backup
	}

	_, err := s.Apply(t.Context(), given("o-1", workflow.Cancel, 2))
	if !errors.Is(err, transitions.ErrJournalAhead) || transitions.Retryable(err) {
		t.Errorf("got %v, want ErrJournalAhead", err)
	}

	if order, _, err := s.Get(t.Context(), "o-1"); err != nil || order.State != workflow.Pending {
		t.Errorf("the order must not have changed: %+v, %v", order, err)
	}

	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: map[string]types.AttributeValue{"orderId": restored["orderId"]}}); err != nil {
		t.Fatal(err)
	}

	// A new order with the id has a journal of its own.
	if r, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}}); err != nil || r.Verdict != transitions.Applied {
		t.Errorf("placing another order under the id: %s, %v", r.Verdict, err)
	}
}

// TestATransactionConflictIsRetried cancels the first transactions because of another
// one on the same order.
func TestATransactionConflictIsRetried(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	collision := embeddedtest.Fault{On: []string{"TransactWriteItems"}, Err: embeddedtest.Canceled("TransactionConflict", "None")}
	collisions := s.Wire.Inject(collision.Next(2))
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	if n := collisions.Strikes(); n != 2 {
		t.Errorf("%d collisions, want 2", n)
	}
	s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = transitions.JournalTransactional, 1 })
	s.Wire.Inject(collision.Next(2))

	if _, err := s.Apply(t.Context(), given("o-1", workflow.Ship, 3)); !errors.Is(err, transitions.ErrContended) || errors.Is(err, transitions.ErrOutcomeUnknown) {
		t.Errorf("a canceled transaction has written nothing: got %v, want ErrContended", err)
	}
}

func TestATransactionalJournalNeedsATable(t *testing.T) {
	s := newOrders(t)
	_, err := transitions.New(transitions.Config{DynamoDB: s.DB, Table: shop.OrdersTable, Journal: transitions.JournalTransactional})
	if err == nil || !strings.Contains(err.Error(), "JournalTable") {
		t.Errorf("got %v", err)
	}
}

// TestTheOrderThatATransactionReturnsIsThatOfTheTable: what is planned on it needs nothing else.
func TestTheOrderThatATransactionReturnsIsThatOfTheTable(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.runs(t, 1)
	s.place(t, "o-1")

	var order *transitions.Order
	for id := placeID + 1; id < 12; id++ {
		order = s.want(t, given("o-1", []workflow.Event{"hold", "release"}[id%2], id), transitions.Applied).Order
	}
	s.runs(t, 2)

	if _, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || !moved {
		t.Fatal(moved, err)
	}

	if item := s.Item(t, "o-1"); item["reqAfter"] != nil || cmp.Diff(item["reqAt"], item["transitionId"], cmpopts.IgnoreUnexported(types.AttributeValueMemberN{})) != "" {
		t.Errorf("the order needs the journal: reqAt %v, reqAfter %v", item["reqAt"], item["reqAfter"])
	}
}

// TestAnOrderThatATransactionCannotReadIsAnError: it was sound when it was read.
func TestAnOrderThatATransactionCannotReadIsAnError(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.beforeMoves(1, func() {
		s.put(t, "orderState", text(string(workflow.OnHold)))
		s.put(t, "transitionId", text("x"))
	})

	if r, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); err == nil || !strings.Contains(err.Error(), "attribute transitionId") {
		t.Errorf("%s, %v", r.Verdict, err)
	}
}
