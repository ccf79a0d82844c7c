package transitions_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

var errSold = errors.New("sold to another order")

// seat is a piece that only a single order can have: an item of the orders' table, with a key that
// no order has.
func seat(owner string) func(*txn.Transaction) {
	return func(t *txn.Transaction) {
		t.Add("seat", types.TransactWriteItem{Put: &types.Put{
			TableName:           aws.String(shop.OrdersTable),
			Item:                map[string]types.AttributeValue{"orderId": text("seat/1"), "owner": text(owner)},
			ConditionExpression: aws.String("attribute_not_exists(orderId)"),
		}}, txn.FailWith(errSold))
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func (s *orders) newOrder(id transitions.OrderID, amount int64) transitions.NewOrder {
	return transitions.NewOrder{ID: id, Total: transitions.Money{Amount: amount, Currency: "EUR"}}
}

func TestAnOrderIsPlacedTogetherWithItsStock(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		place := func(id transitions.OrderID, amount int64, with ...func(*txn.Transaction)) (transitions.Verdict, error) {
			result, err := s.CreateWith(t.Context(), s.newOrder(id, amount), with...)
			return result.Verdict, err
		}

		if v, err := place("o-1", 5, seat("o-1")); v != transitions.Applied || err != nil {
			t.Fatalf("placed: %s, %v", v, err)
		}

		var refused *txn.CanceledError
		if v, err := place("o-2", 5, seat("o-2")); !errors.Is(err, errSold) || !errors.As(err, &refused) || refused.Part != "seat" || transitions.Retryable(err) {
			t.Errorf("without the seat: %s, %v", v, err)
		}

		if item := s.Item(t, "o-2"); len(item) != 0 {
			t.Errorf("an order without its seat was placed: %v", item)
		}

		if s.mode == transitions.JournalTransactional && len(s.row(t, "o-2", "1")) != 0 {
			t.Error("the journal has an order that was not placed")
		}

		// The order exists, so its answer outranks the answer of the seat.
		if v, err := place("o-1", 5, seat("o-1")); v != transitions.Replayed || err != nil {
			t.Errorf("the same again: %s, %v", v, err)
		}

		if v, err := place("o-1", 6, seat("o-1")); v != transitions.Conflict || err != nil {
			t.Errorf("other content: %s, %v", v, err)
		}
	})
}

// TestALostAnswerToAPlacingIsApplied: the retry meets the order that the first attempt has
// written, and must not take the failure of the parts for an answer.
func TestALostAnswerToAPlacingIsApplied(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, open maker) {
		s := open(t)
		s.Wire.Inject(embeddedtest.LoseAnswer("TransactWriteItems").Next(1))

		result, err := s.CreateWith(t.Context(), s.newOrder("o-1", 5), seat("o-1"))
		if err != nil || result.Verdict != transitions.Applied || result.Transition.ID != placeID {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

func TestTooManyPartsBesideAnOrder(t *testing.T) {
	s := newOrders(t)
	parts := func(t *txn.Transaction) {
		for i := range 100 {
			t.Add(fmt.Sprint(i), types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String(shop.OrdersTable),
				Key: map[string]types.AttributeValue{"orderId": text(fmt.Sprint("seat/", i))}}}, nil)
		}
	}

	_, err := s.CreateWith(t.Context(), s.newOrder("o-1", 5), parts)
	if !errors.Is(err, txn.ErrInvalid) || transitions.Retryable(err) {
		t.Errorf("got %v, want txn.ErrInvalid", err)
	}
}

// TestOneOfManyOrdersGetsTheSeat: the orders that do not get it are not placed.
func TestOneOfManyOrdersGetsTheSeat(t *testing.T) {
	s := newOrders(t)

	const orders = 8
	var placed, sold atomic.Int32
	var wg sync.WaitGroup
	for i := range orders {
		wg.Go(func() {
			id := transitions.OrderID(fmt.Sprint("o-", i))

			result, err := s.CreateWith(t.Context(), s.newOrder(id, 5), seat(string(id)))
			switch {
			case errors.Is(err, errSold):
				sold.Add(1)
			case err == nil && result.Verdict == transitions.Applied:
				placed.Add(1)
			default:
				t.Errorf("%s: %s, %v", id, result.Verdict, err)
			}
		})
	}
	wg.Wait()

	if placed.Load() != 1 || sold.Load() != orders-1 {
		t.Errorf("%d placed, %d without the seat", placed.Load(), sold.Load())
	}

	out, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.OrdersTable)})
	if err != nil || out.Count != 2 {
		t.Errorf("%d items, %v, want the order and its seat", out.Count, err)
	}
}
