package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// Names and quantities are accepted up to their bounds, and not beyond.
func TestNamesAndQuantitiesHaveBounds(t *testing.T) {
	s := newStock(t)
	for bytes, valid := range map[int]bool{127: true, 128: true, 129: false} {
		name := strings.Repeat("n", bytes)
		if err := s.Set(t.Context(), name, 1); valid != (err == nil) {
			t.Errorf("a SKU of %d bytes: %v", bytes, err)
		}

	}

	// As many as an order's id of 256 bytes has with its incarnation, and more.
	for bytes, valid := range map[int]bool{270: true, 288: true, 289: false} {
		if _, _, err := s.Reservation(t.Context(), strings.Repeat("n", bytes)); valid != (err == nil) {
			t.Errorf("a reservation with a name of %d bytes: %v", bytes, err)
		}
	}

	for quantity, valid := range map[int64]bool{inventory.MaxQuantity: true, inventory.MaxQuantity + 1: false} {
		err := s.Reserve(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: quantity}})
		if valid == errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%d pieces: %v", quantity, err)
		}
	}
}

func TestAnUnknownSKUIsNotFound(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 0)

	for sku, want := range map[string]bool{"mug": true, "cup": false} {
		if _, found, err := s.Level(t.Context(), sku); found != want || err != nil {
			t.Errorf("%s: %v, %v", sku, found, err)
		}
	}
}

func TestAnUnknownOrderHasNoReservation(t *testing.T) {
	s := newStock(t)
	if r, found, err := s.Reservation(t.Context(), "o-1"); found || err != nil || r.Status != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// All the optional fields of a configuration may be left out.
func TestTheDefaultsOfAConfigurationAreValid(t *testing.T) {
	s := newStock(t)
	if _, err := inventory.New(inventory.Config{DynamoDB: s.db, Table: "inventory", DueTable: "due"}); err != nil {
		t.Error(err)
	}
}

// A reservation that changes before every attempt is no success.
func TestAReservationThatAlwaysChangesIsContended(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)
	s.reserveUntil(t, "o-1", 10*time.Minute)

	began := s.clock.Now()
	ends, inside := 10, false
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") || inside {
			return nil
		}
		inside = true
		defer func() { inside = false }()

		ends++

		return s.ReserveUntil(t.Context(), "o-1", twoMugs, began.Add(time.Duration(ends)*time.Minute))
	})

	for name, call := range map[string]func() error{
		"commit":  func() error { return s.Commit(t.Context(), "o-1") },
		"release": func() error { return s.Release(t.Context(), "o-1") },
		"reserve": func() error { return s.ReserveUntil(t.Context(), "o-1", twoMugs, began.Add(time.Hour)) },
	} {
		if err := call(); !errors.Is(err, txn.ErrContended) || !txn.Retryable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.transport.Clear()
	level(t, s, "mug", inventory.Level{Available: 98, Reserved: 2})
}

// A reservation that gets other lines between the two transactions of Adjust, each time, is no
// success: the lines are not held.
func TestAReservationThatIsAlwaysAdjustedIsContended(t *testing.T) {
	s := newStock(t)
	lines := func(name string) (all []inventory.Line) {
		for i := range inventory.MaxLines {
			line := inventory.Line{SKU: fmt.Sprint(name, i), Quantity: 1}
			set(t, s, line.SKU, 1)
			all = append(all, line)
		}

		return all
	}
	ours, others := lines("a"), lines("b")

	if err := s.Adjust(t.Context(), "o-1", others); err != nil {
		t.Fatal(err)
	}

	inside := false
	s.transport.After(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") || inside {
			return nil
		}
		inside = true
		defer func() { inside = false }()

		return s.Adjust(t.Context(), "o-1", others)
	})

	if err := s.Adjust(t.Context(), "o-1", ours); !errors.Is(err, txn.ErrContended) || !txn.Retryable(err) {
		t.Error(err)
	}
	s.transport.Clear()

	if covered, err := s.Covers(t.Context(), "o-1", others); err != nil || !covered {
		t.Errorf("the reservation holds the lines of the other: %v, %v", covered, err)
	}

	if err := s.Adjust(t.Context(), "o-1", ours); err != nil {
		t.Errorf("alone: %v", err)
	}
}

// The expired reservation of an order cannot be ended, so the order cannot reserve again.
func TestReservingAgainFailsWhileTheOldReservationCannotEnd(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(2 * time.Minute)

	s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems").From(2))
	s.transport.Reset()

	err := s.Reserve(t.Context(), "o-1", twoMugs)
	if writes := s.transport.Count("TransactWriteItems"); err == nil || !strings.Contains(err.Error(), "AccessDenied") || writes != 2 {
		t.Errorf("%v after %d writes", err, writes)
	}
}

// A reservation has room for MaxLines lines. What exceeds them is ErrInvalid, what fits is not.
func TestTheLastLineFits(t *testing.T) {
	s := newStock(t)
	lines := func(from, n int) (all []inventory.Line) {
		for i := range n {
			sku := fmt.Sprint("sku-", from+i)
			set(t, s, sku, 1)
			all = append(all, inventory.Line{SKU: sku, Quantity: 1})
		}

		return all
	}

	if err := s.addIn(t, "o-1", lines(0, inventory.MaxLines-1)...); err != nil {
		t.Fatal(err)
	}

	if err := s.addIn(t, "o-1", lines(200, 2)...); !errors.Is(err, inventory.ErrInvalid) || !strings.Contains(err.Error(), "2 lines beside 97, at most 98") {
		t.Errorf("one line too many: %v", err)
	}

	if err := s.addIn(t, "o-1", lines(300, 1)...); err != nil {
		t.Errorf("the last line: %v", err)
	}
}

// Ends are compared in milliseconds, as they are stored.
func TestTheSameMillisecondIsTheSameEnd(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	end := s.clock.Now().Add(time.Minute).Truncate(time.Millisecond)

	for _, until := range []time.Time{end, end.Add(time.Microsecond)} {
		if err := s.ReserveUntil(t.Context(), "o-1", twoMugs, until); err != nil {
			t.Errorf("%v: %v", until, err)
		}
	}

	if writes := s.transport.Count("TransactWriteItems"); writes != 2 {
		t.Errorf("%d writes, want one for each call", writes)
	}

	if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || !r.ExpiresAt.Equal(end) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A sweep returns exactly what is due at its time, at most the limit, and says when more is.
func TestASweepEndsAtItsTimeAndItsLimit(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)

	for i := range 40 {
		if err := s.ReserveUntil(t.Context(), fmt.Sprint("o-", i), twoMugs, s.clock.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	const margin = 2 * time.Second
	s.clock.Advance(time.Minute + margin - time.Millisecond)
	s.sweep(t, 0)
	s.clock.Advance(time.Millisecond)

	for _, row := range []struct{ limit, want int }{{2, 2}, {10, 10}, {1, 1}, {100, 27}, {100, 0}} {
		if n, err := s.ExpireDue(t.Context(), row.limit); n != row.want || err != nil {
			t.Errorf("limit %d: %d, %v, want %d", row.limit, n, err, row.want)
		}
	}
	level(t, s, "mug", inventory.Level{Available: 100})
}

// A sweep that cannot be made returns at most ten of its errors.
func TestASweepReturnsTenErrors(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)

	for i := range 15 {
		s.reserveUntil(t, fmt.Sprint("o-", i), time.Minute)
	}
	s.clock.Advance(2 * time.Minute)
	s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems", "PutItem"))

	n, err := s.ExpireDue(t.Context(), 100)
	if count := strings.Count(fmt.Sprint(err), "expire the reservation of order"); n != 0 || count != 10 {
		t.Errorf("%d swept, %d errors", n, count)
	}
}

// A canceled sweep postpones nothing: the next one finds the rows where they were.
func TestACanceledSweepPostponesNothing(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 100)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(2 * time.Minute)

	ctx, cancel := context.WithCancel(t.Context())
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("TransactWriteItems") {
			cancel()
		}

		return nil
	})

	if n, err := s.ExpireDue(ctx, 100); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	s.transport.Clear()

	if rows := s.dueRows(t); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

// A sweep that is made while rows cannot be deleted, or later ones not written, does not
// count them and says so.
func TestRowsThatStayAreNotCounted(t *testing.T) {
	for name, fault := range map[string]embeddedtest.Fault{
		"the row is not deleted":   embeddedtest.Answer("AccessDeniedException", "DeleteItem"),
		"the row is not postponed": embeddedtest.Answer("AccessDeniedException", "TransactWriteItems", "PutItem"),
	} {
		s := newStock(t)
		set(t, s, "mug", 10)
		s.reserveUntil(t, "o-1", time.Minute)

		// The row of a reservation that runs goes in the transaction that ends it.
		if name == "the row is not deleted" {
			if err := s.Release(t.Context(), "o-1"); err != nil {
				t.Fatal(err)
			}
		}
		s.clock.Advance(2 * time.Minute)
		s.transport.Inject(fault)

		if n, err := s.ExpireDue(t.Context(), 100); n != 0 || err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		s.transport.Clear()
		s.sweep(t, 1)
		level(t, s, "mug", inventory.Level{Available: 10})
	}
}

// An extension that DynamoDB does not answer is an error.
func TestAnExtensionThatFailsIsAnError(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	s.reserveUntil(t, "o-1", time.Minute)

	s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems").From(2).Next(1))

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Error(err)
	}
	s.transport.Clear()

	if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || r.ExpiresAt.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
}

// Why a reservation that cannot be committed cannot.
func TestTheReasonOfAClosedReservationIsNamed(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Commit(t.Context(), "nothing"); !errors.Is(err, inventory.ErrClosed) || !strings.Contains(err.Error(), "nothing is reserved") {
		t.Error(err)
	}

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Fatal(err)
	}

	if err := s.Release(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}

	if err := s.Commit(t.Context(), "o-1"); !errors.Is(err, inventory.ErrClosed) || !strings.Contains(err.Error(), "RELEASED") {
		t.Error(err)
	}
}
