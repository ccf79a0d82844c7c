package inventory_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
)

// TestARepeatAfterTheEndIsToldWhatBecameOfTheReservation: the answer of the first call was lost, and the repeat
// comes when the end has passed, whether a sweep has come or not.
func TestARepeatAfterTheEndIsToldWhatBecameOfTheReservation(t *testing.T) {
	lines, until := []inventory.Line{{SKU: "a", Quantity: 1}}, embeddedtest.Start.Add(time.Hour)

	for name, row := range map[string]struct {
		meanwhile func(*stock) error
		want      error
	}{
		"committed": {func(s *stock) error { return s.CommitAndClose(t.Context(), "o") }, inventory.ErrClosed},
		"released":  {func(s *stock) error { return s.Release(t.Context(), "o") }, inventory.ErrClosed},
		"expired":   {func(*stock) error { return nil }, inventory.ErrExpired},
		"extended": {func(s *stock) error {
			return s.ReserveUntil(t.Context(), "o", lines, until.Add(24*time.Hour))
		}, inventory.ErrConflict},
	} {
		for _, swept := range []bool{false, true} {
			s := newStock(t)
			set(t, s, "a", 1)

			if err := errors.Join(s.ReserveUntil(t.Context(), "o", lines, until), row.meanwhile(s)); err != nil {
				t.Fatal(name, err)
			}
			s.clock.Advance(2 * time.Hour)

			if swept {
				if _, err := s.ExpireDue(t.Context(), 10); err != nil {
					t.Fatal(err)
				}
			}

			err := s.ReserveUntil(t.Context(), "o", lines, until)
			if !errors.Is(err, row.want) || errors.Is(err, inventory.ErrExpired) != (row.want == inventory.ErrExpired) {
				t.Errorf("%s, swept %t: %v, want %v", name, swept, err, row.want)
			}
		}
	}
}
