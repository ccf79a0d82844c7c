package inventory_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// A basket holds the pieces for some minutes; the order that is paid holds them without an
// end. No sweep may take pieces from the order after Reserve has said that they are its own.
func TestAReservationWithoutAnEndReplacesOneWithAnEnd(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	s.reserveUntil(t, "o-1", 15*time.Minute)

	for range 2 { // a repeat changes nothing
		if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
			t.Fatal(err)
		}
	}

	if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || !r.ExpiresAt.IsZero() {
		t.Errorf("the reservation still ends: %+v, %v", r, err)
	}

	s.clock.Advance(16 * time.Minute)
	s.sweep(t, 1) // the row of the former end

	if err := s.Reserve(t.Context(), "o-2", twoMugs); !errors.Is(err, inventory.ErrOutOfStock) {
		t.Errorf("another order took the pieces: %v", err)
	}

	if err := s.Commit(t.Context(), "o-1"); err != nil {
		t.Errorf("commit of a reservation without an end: %v", err)
	}
	level(t, s, "mug", inventory.Level{Committed: 2})
}

func TestTheEndOfAReservationMovesOnlyForward(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	s.reserveUntil(t, "o-1", 10*time.Minute)

	first := s.clock.Now().Add(10 * time.Minute)
	later := s.clock.Now().Add(20 * time.Minute)

	for _, test := range []struct {
		about string
		until time.Time
		want  error
		end   time.Time
	}{
		{about: "the same end", until: first, end: first},
		{about: "the same millisecond", until: first.Add(time.Microsecond), end: first},
		{about: "an earlier end", until: first.Add(-time.Millisecond), want: inventory.ErrConflict, end: first},
		{about: "a later end", until: later, end: later},
		{about: "the later end again", until: later, end: later},
		{about: "the former end", until: first, want: inventory.ErrConflict, end: later},
	} {
		if err := s.ReserveUntil(t.Context(), "o-1", twoMugs, test.until); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.about, err, test.want)
		}

		if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || !r.ExpiresAt.Equal(test.end) {
			t.Errorf("%s: the reservation ends %s (%v), want %s", test.about, r.ExpiresAt, err, test.end)
		}
	}

	s.clock.Advance(15 * time.Minute)
	s.sweep(t, 1) // the row of the first end
	level(t, s, "mug", inventory.Level{Reserved: 2})

	s.clock.Advance(6 * time.Minute)
	s.sweep(t, 1)
	level(t, s, "mug", inventory.Level{Available: 2})
}

func TestAReservationWithoutAnEndGetsNone(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Fatal(err)
	}

	if err := addLines(t, s, "o-2"); err != nil { // lines that AddIn reserves have no end
		t.Fatal(err)
	}

	for _, order := range []string{"o-1", "o-2"} {
		if err := s.ReserveUntil(t.Context(), order, twoMugs, s.clock.Now().Add(time.Hour)); !errors.Is(err, inventory.ErrConflict) {
			t.Errorf("an end for %s: %v", order, err)
		}
	}

	s.clock.Advance(2 * time.Hour)
	s.sweep(t, 0)
	level(t, s, "mug", inventory.Level{Available: 6, Reserved: 4})
}

// The sweep and the removal of the end race: the pieces are swept, or the order has them
// without an end.
func TestAnEndIsRemovedOnlyWhileTheReservationRuns(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	s.reserveUntil(t, "o-1", time.Minute)

	// Between the refused reservation and the removal of the end, the order is released.
	n := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") {
			return nil
		}

		if n++; n == 2 {
			return s.Release(t.Context(), "o-1")
		}

		return nil
	})

	if err := s.Reserve(t.Context(), "o-1", twoMugs); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("reserve during a release: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 2})
}

// addLines adds two mugs to the order's reservation, in a transaction of the caller.
func addLines(t testing.TB, s *stock, order string) error {
	t.Helper()

	add, err := s.AddIn(order, twoMugs)
	if err != nil {
		t.Fatal(err)
	}

	var tx txn.Transaction
	add(&tx)

	return s.writer.Write(t.Context(), &tx)
}

// The pieces of an expired reservation go back. Lines that are added to it would go with
// them, so they are refused until the order has reserved again.
func TestNoLinesAreAddedToAnExpiredReservation(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	s.reserveUntil(t, "o-1", time.Minute)

	if err := addLines(t, s, "o-1"); err != nil {
		t.Fatalf("before the end: %v", err)
	}

	s.clock.Advance(time.Minute)

	if err := addLines(t, s, "o-1"); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("after the end: %v, want ErrExpired", err)
	}
	level(t, s, "mug", inventory.Level{Available: 6, Reserved: 4})
}

// DynamoDB does not say whether a part that is in conflict would have failed. While the
// reservation is in conflict, an empty SKU tells nothing: its last pieces may be the
// order's own.
func TestTheHolderOfTheLastPiecesIsNotToldThatThereAreNone(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Fatal(err)
	}

	conflict := s.transport.Inject(embeddedtest.Fault{
		On:  []string{"TransactWriteItems"},
		Err: embeddedtest.Canceled("TransactionConflict", "ConditionalCheckFailed"),
	}.Next(1))

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Errorf("a repeat during a conflict: %v", err)
	}

	if conflict.Strikes() != 1 {
		t.Errorf("%d conflicts, want 1", conflict.Strikes())
	}
}
