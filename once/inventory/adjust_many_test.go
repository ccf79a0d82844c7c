package inventory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// many returns lines of 97 SKUs, as an order may have, from the first on.
func many(t *testing.T, s *stock, first int) (lines []inventory.Line) {
	t.Helper()

	for i := first; i < first+97; i++ {
		lines = append(lines, pieces(fmt.Sprint("sku-", i), 2))
		set(t, s, lines[len(lines)-1].SKU, 3)
	}

	return lines
}

// wantReserved checks that each of the lines is reserved once, and that nothing else is.
func wantReserved(t *testing.T, s *stock, lines []inventory.Line, skus int) {
	t.Helper()

	var reserved, available int64
	for i := range skus {
		l, _, err := s.Level(t.Context(), fmt.Sprint("sku-", i))
		if err != nil {
			t.Fatal(err)
		}
		reserved, available = reserved+l.Reserved, available+l.Available
	}

	var want int64
	for _, l := range lines {
		want += l.Quantity
	}

	if reserved != want || reserved+available != int64(3*skus) {
		t.Errorf("%d pieces reserved and %d available, want %d of %d", reserved, available, want, 3*skus)
	}

	if covers, err := s.Covers(t.Context(), "o-1", lines); !covers || err != nil {
		t.Errorf("the reservation does not hold the lines: %v", err)
	}
}

// TestAdjustChangesMoreSKUsThanATransactionTakes: an order was edited until hardly any of its 97 SKUs
// was left. Between the two transactions it may be edited again; then the reservation holds what has
// stayed, and a repeat goes on from there.
func TestAdjustChangesMoreSKUsThanATransactionTakes(t *testing.T) {
	edited := errors.New("the order was edited")

	for _, refuse := range []bool{false, true} {
		s := newStock(t)
		before, after := many(t, s, 0), many(t, s, 60)
		set(t, s, "free", 1)

		if err := s.Reserve(t.Context(), "o-1", before); err != nil {
			t.Fatal(err)
		}
		checks := 0
		check := func(tx *txn.Transaction) {
			sku := "free"
			if checks++; refuse && checks == 2 {
				sku = "none"
			}
			table, condition := "inventory", "attribute_exists(sku)"
			tx.AddDecisive("check", types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: &table, Key: map[string]types.AttributeValue{"sku": &types.AttributeValueMemberS{Value: sku}},
				ConditionExpression: &condition,
			}}, txn.FailWith(edited))
		}

		if refuse {
			if err := s.Adjust(t.Context(), "o-1", after, check); !errors.Is(err, edited) {
				t.Errorf("%v, want a refusal", err)
			}
			wantReserved(t, s, after[:37], 157)
		}

		for range 2 {
			if err := s.Adjust(t.Context(), "o-1", after, check); err != nil {
				t.Fatal(err)
			}
		}
		wantReserved(t, s, after, 157)

		if want := 2; !refuse && checks != want {
			t.Errorf("%d transactions were checked, want %d", checks, want)
		}
	}
}

// TestAdjustLowersWhatStays: an edit lowers some quantities and replaces the other SKUs, together more
// than one transaction takes.
func TestAdjustLowersWhatStays(t *testing.T) {
	s := newStock(t)
	before, after := many(t, s, 0), many(t, s, 37)

	if err := s.Reserve(t.Context(), "o-1", before); err != nil {
		t.Fatal(err)
	}

	for i := range after[:60] {
		after[i].Quantity = 1
	}

	if err := s.Adjust(t.Context(), "o-1", after); err != nil {
		t.Fatal(err)
	}
	wantReserved(t, s, after, 134)
}
