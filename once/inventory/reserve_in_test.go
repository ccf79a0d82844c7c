package inventory_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// reserveIn writes the parts of ReserveIn in a transaction of their own.
func (s *stock) reserveIn(t testing.TB, order string, lines []inventory.Line, until time.Time) error {
	t.Helper()

	parts, err := s.ReserveIn(order, lines, until)
	if err != nil {
		return err
	}
	var tx txn.Transaction
	parts(&tx)

	return s.writer.Write(t.Context(), &tx)
}

func TestAReservationMayBePartOfATransaction(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 3)
	set(t, s, "cap", 0)
	two := []inventory.Line{{SKU: "mug", Quantity: 2}}
	end := s.clock.Now().Add(time.Minute)

	if err := s.reserveIn(t, "o-1", []inventory.Line{{SKU: "mug", Quantity: 1}, {SKU: "cap", Quantity: 1}}, end); !errors.Is(err, inventory.ErrOutOfStock) {
		t.Errorf("a line without stock: %v", err)
	}

	if _, found, err := s.Reservation(t.Context(), "o-1"); found || err != nil {
		t.Errorf("a refused transaction left a reservation (%v)", err)
	}

	if err := s.reserveIn(t, "o-1", two, end); err != nil {
		t.Fatal(err)
	}
	level(t, s, "mug", inventory.Level{Available: 1, Reserved: 2})

	// It is a reservation like any other: a repeat of ReserveUntil finds it, with its end.
	if err := s.ReserveUntil(t.Context(), "o-1", two, end); err != nil {
		t.Errorf("repeated with ReserveUntil: %v", err)
	}

	if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || !r.ExpiresAt.Equal(end.Truncate(time.Millisecond)) {
		t.Errorf("reservation %+v, %v, want the end %s", r, err, end)
	}

	for what, c := range map[string]struct {
		lines []inventory.Line
		want  error
	}{
		"the same lines": {lines: two, want: inventory.ErrReserved},
		"other lines":    {lines: []inventory.Line{{SKU: "mug", Quantity: 1}}, want: inventory.ErrConflict},
		"no lines":       {want: inventory.ErrInvalid},
	} {
		if err := s.reserveIn(t, "o-1", c.lines, time.Time{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}

	s.clock.Advance(time.Hour)

	if err := s.reserveIn(t, "o-1", two, time.Time{}); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("after the end: %v, want ErrExpired", err)
	}
}

// TestALockedReservationIsNotOutOfStock: the order has the last pieces, and another
// transaction has its reservation locked for a moment.
func TestALockedReservationIsNotOutOfStock(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 1)
	last := []inventory.Line{{SKU: "mug", Quantity: 1}}

	if err := s.reserveIn(t, "o-1", last, time.Time{}); err != nil {
		t.Fatal(err)
	}

	s.transport.Inject(embeddedtest.Fault{
		On:  []string{"TransactWriteItems"},
		Err: embeddedtest.Canceled("TransactionConflict", "ConditionalCheckFailed"),
	}.Next(1))

	if err := s.reserveIn(t, "o-1", last, time.Time{}); !errors.Is(err, inventory.ErrReserved) {
		t.Errorf("got %v, want ErrReserved", err)
	}
}
