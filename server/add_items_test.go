package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/once/inventory"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (s *stockedBackend) addItems(t *testing.T, event string, lines ...transitions.Item) transitions.Result {
	t.Helper()

	r, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: transitions.RequestID(event)}, lines...)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func (s *stockedBackend) stock(t *testing.T, sku string, want inventory.Level) {
	t.Helper()

	want.SKU = sku
	if got, _, err := s.Stock.Level(t.Context(), sku); err != nil || got != want {
		t.Errorf("stock %+v (%v), want %+v", got, err, want)
	}
}

func TestLinesAndTheirPiecesAreAddedTogetherOrNotAtAll(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	for sku, n := range map[string]int64{"cup": 10, "rare": 1} {
		if err := s.Stock.Set(t.Context(), sku, n); err != nil {
			t.Fatal(err)
		}
	}

	cups := transitions.Item{SKU: "cup", Quantity: 2, Price: 500}
	var group sync.WaitGroup
	verdicts := make([]transitions.Verdict, 8)
	for i := range verdicts { // one edit, sent many times at once
		group.Go(func() {
			r, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e-1"}, cups)
			if verdicts[i] = r.Verdict; err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	slices.Sort(verdicts)

	if verdicts[0] != transitions.Applied || verdicts[1] != transitions.Replayed || verdicts[7] != transitions.Replayed {
		t.Errorf("verdicts %v", verdicts)
	}
	s.stock(t, "cup", inventory.Level{Available: 8, Reserved: 2})

	_, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e-2"}, cups, transitions.Item{SKU: "rare", Quantity: 2, Price: 1})
	if !errors.Is(err, inventory.ErrOutOfStock) || !strings.Contains(err.Error(), "rare") {
		t.Errorf("got %v", err)
	}
	s.stock(t, "cup", inventory.Level{Available: 8, Reserved: 2})

	order, _, err := s.Orders.Get(t.Context(), mug.ID)
	if err != nil || len(order.Items) != len(mug.Items)+1 || order.Total.Amount != mug.Total.Amount+1000 {
		t.Errorf("order %+v, %v", order, err)
	}

	if r := s.addItems(t, "e-2", cups); r.Verdict != transitions.Applied {
		t.Errorf("the refused edit left a record: %s", r.Verdict)
	}

	// The execution also reserves the lines with which the order was placed.
	s.env.Execute(mug)
	s.until(workflow.Delivered)
	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)
	s.stock(t, "cup", inventory.Level{Available: 6, Committed: 4})

	if r := s.addItems(t, "e-3", cups); r.Verdict != transitions.WrongState || r.Order == nil {
		t.Errorf("after payment: %+v", r)
	}
	s.stock(t, "cup", inventory.Level{Available: 6, Committed: 4})
}

func TestAddedLinesAreRefusedLikeOtherEdits(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	line := transitions.Item{SKU: "mug", Quantity: 1, Price: 1}
	if _, err := s.Orders.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "plain"}, line); err != nil {
		t.Fatal(err)
	}

	if r := s.addItems(t, "plain", line); r.Verdict != transitions.Conflict {
		t.Errorf("an edit that was made without stock: %s", r.Verdict)
	}

	r, err := s.AddItems(t.Context(), transitions.Edit{OrderID: "nobody", EventID: "e"}, line)
	if err != nil || r.Verdict != transitions.NotFound {
		t.Errorf("no order: %s, %v", r.Verdict, err)
	}

	for name, lines := range map[string][]transitions.Item{"none": nil, "bad": {{SKU: "mug"}}} {
		if _, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e"}, lines...); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}

	var many []transitions.Item
	for i := range 98 {
		many = append(many, transitions.Item{SKU: fmt.Sprint("sku-", i), Quantity: 1, Price: 1})
		if err := s.Stock.Set(t.Context(), many[i].SKU, 1); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e"}, many...); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "98 different SKUs, at most 97") {
		t.Errorf("one SKU too many: %v", err)
	}

	if _, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e"}, many[:97]...); !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("one SKU too many, beside the mug: %v", err)
	}

	if err := s.Stock.Set(t.Context(), line.SKU, 1); err != nil {
		t.Fatal(err)
	}

	if r := s.addItems(t, "e", append(many[:96:96], line)...); r.Verdict != transitions.Applied {
		t.Errorf("as many as possible: %s", r.Verdict)
	}
}

// TestAnItemThatOthersHaveFilledTakesNoLines: the answer is the same as for an edit without stock.
func TestAnItemThatOthersHaveFilledTakesNoLines(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	if _, err := s.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 &s.Tables.Orders,
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(mug.ID)}},
		UpdateExpression:          aws.String("SET attachment = :b"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":b": &types.AttributeValueMemberB{Value: make([]byte, 399<<10)}},
	}); err != nil {
		t.Fatal(err)
	}
	line := transitions.Item{SKU: strings.Repeat("s", 128), Quantity: 1, Price: 1}

	if err := s.Stock.Set(t.Context(), line.SKU, 20); err != nil {
		t.Fatal(err)
	}

	if _, err := s.AddItems(t.Context(), transitions.Edit{OrderID: mug.ID, EventID: "e"}, slices.Repeat([]transitions.Item{line}, 20)...); !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("%v", err)
	}
}

// TestARepeatAfterTheRetentionOfTheClaimIsReplayed deletes the claim, as TTL does.
func TestARepeatAfterTheRetentionOfTheClaimIsReplayed(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	if err := s.Stock.Set(t.Context(), "cup", 10); err != nil {
		t.Fatal(err)
	}

	cups := transitions.Item{SKU: "cup", Quantity: 2, Price: 500}
	if r := s.addItems(t, "e-1", cups); r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict)
	}

	deleted, err := s.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName:    aws.String(s.Tables.Once),
		Key:          map[string]types.AttributeValue{"idempotencyKey": &types.AttributeValueMemberS{Value: "add-items/" + lifeOf(t, s.Orders, mug.ID) + "/e-1"}},
		ReturnValues: types.ReturnValueAllOld,
	})
	if err != nil || len(deleted.Attributes) == 0 {
		t.Fatalf("no claim: %v", err)
	}

	if r := s.addItems(t, "e-1", cups); r.Verdict != transitions.Replayed {
		t.Errorf("the repeat: %s, %s", r.Verdict, r.Reason)
	}

	cups.Quantity = 3
	if r := s.addItems(t, "e-1", cups); r.Verdict != transitions.Conflict {
		t.Errorf("other lines: %s", r.Verdict)
	}
	s.stock(t, "cup", inventory.Level{Available: 8, Reserved: 2})
}

// TestAnOrderMakesRoomForLinesWithStock makes more edits than an order remembers.
func TestAnOrderMakesRoomForLinesWithStock(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	if err := s.Stock.Set(t.Context(), "cup", 1000); err != nil {
		t.Fatal(err)
	}

	const edits = 80
	for i := range edits {
		if r := s.addItems(t, fmt.Sprint("e-", i), transitions.Item{SKU: "cup", Quantity: 1, Price: 1}); r.Verdict != transitions.Applied {
			t.Fatalf("edit %d: %+v", i, r)
		}
	}
	s.stock(t, "cup", inventory.Level{Available: 1000 - edits, Reserved: edits})

	if r := s.addItems(t, "e-0", transitions.Item{SKU: "cup", Quantity: 1, Price: 1}); r.Verdict != transitions.Replayed {
		t.Errorf("a repeat of an edit that the order has forgotten: %s", r.Verdict)
	}
}
