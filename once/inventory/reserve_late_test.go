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
			if !errors.Is(err, row.want) || errors.Is(err, inventory.ErrExpired) != errors.Is(row.want, inventory.ErrExpired) {
				t.Errorf("%s, swept %t: %v, want %v", name, swept, err, row.want)
			}
		}
	}
}

// TestPartsAfterTheirEndAreToldWhatBecameOfTheReservation: a transaction that is repeated after the end of its
// reservation gets its own answer first, and makes no reservation that has ended.
func TestPartsAfterTheirEndAreToldWhatBecameOfTheReservation(t *testing.T) {
	lines, until := []inventory.Line{{SKU: "a", Quantity: 1}}, embeddedtest.Start.Add(time.Hour)
	s := newStock(t)
	set(t, s, "a", 2)

	if err := s.reserveIn(t, "o", lines, until); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * time.Hour)

	if err := s.reserveIn(t, "o", lines, until); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("a repeat: %v", err)
	}

	if err := s.reserveIn(t, "o-2", lines, until); !errors.Is(err, inventory.ErrInvalid) || errors.Is(err, inventory.ErrConflict) {
		t.Errorf("a first call: %v", err)
	}
	level(t, s, "a", inventory.Level{Available: 1, Reserved: 1})
}

// TestAReservationWhoseEndPassesWhileItIsTriedIsRefused: the end is compared with the time of each attempt.
func TestAReservationWhoseEndPassesWhileItIsTriedIsRefused(t *testing.T) {
	lines, until := []inventory.Line{{SKU: "a", Quantity: 1}}, embeddedtest.Start.Add(time.Hour)
	s := newStock(t)
	set(t, s, "a", 1)

	n := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") {
			return nil
		}

		if n++; n == 1 {
			s.clock.Advance(2 * time.Hour)
			return embeddedtest.Canceled("TransactionConflict", "None", "None")
		}

		return nil
	})

	if err := s.ReserveUntil(t.Context(), "o", lines, until); !errors.Is(err, inventory.ErrInvalid) || errors.Is(err, inventory.ErrConflict) || n < 2 {
		t.Errorf("after %d attempts: %v", n, err)
	}
	level(t, s, "a", inventory.Level{Available: 1})
}
