package inventory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
)

// TestAReservationOfAnotherTypeIsAnError: without its end, its lines or its status, a reservation would be another
// one. Nothing is sold or given back.
func TestAReservationOfAnotherTypeIsAnError(t *testing.T) {
	lines := []inventory.Line{{SKU: "mug", Quantity: 2}}

	for name, wrong := range map[string]types.AttributeValue{
		"status": dynamo.N(1), "lines": dynamo.S("x"), "expiresAt": dynamo.S("2026-01-01"), "version": dynamo.S("x"), "base": dynamo.S("x"),
	} {
		s := newStock(t)
		set(t, s, "mug", 10)
		until := time.Now().Add(time.Hour)

		if err := s.ReserveUntil(t.Context(), "o-1", lines, until); err != nil {
			t.Fatal(err)
		}

		update := dynamo.NewUpdate("inventory", dynamo.Item{"sku": dynamo.S("order#o-1")}).SetValue(name, wrong)
		if _, err := s.db.UpdateItem(t.Context(), update.Input()); err != nil {
			t.Fatal(err)
		}

		_, _, read := s.Reservation(t.Context(), "o-1")
		for verb, err := range map[string]error{
			"read":    read,
			"reserve": s.ReserveUntil(t.Context(), "o-1", lines, until),
			"commit":  s.Commit(t.Context(), "o-1"),
			"release": s.Release(t.Context(), "o-1"),
			"adjust":  s.Adjust(t.Context(), "o-1", lines),
		} {
			if err == nil || errors.Is(err, inventory.ErrClosed) || errors.Is(err, inventory.ErrConflict) {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}
		level(t, s, "mug", inventory.Level{Available: 8, Reserved: 2})
	}

	s := newStock(t)
	set(t, s, "mug", 10)

	update := dynamo.NewUpdate("inventory", dynamo.Item{"sku": dynamo.S("mug")}).SetValue("available", dynamo.S("10"))
	if _, err := s.db.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	if err := s.Reserve(t.Context(), "o-1", lines); err == nil || errors.Is(err, inventory.ErrOutOfStock) {
		t.Errorf("a counter of another type: %v", err)
	}

	if l, found, err := s.Level(t.Context(), "mug"); err == nil {
		t.Errorf("a counter of another type reads as %+v, %t", l, found)
	}
}
