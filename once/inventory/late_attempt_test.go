package inventory_test

import (
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
)

// The first attempt of a reservation is made without an answer. A sweep ends it while the second attempt is
// under way, which makes the reservation once more, before the sweep comes to the row: the row must stay,
// or the pieces never come back.
func TestAnAttemptThatComesDuringASweepStrandsNoPieces(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 5)

	var reserved sync.WaitGroup
	second, swept := make(chan struct{}), make(chan struct{})
	s.transport.Before(func(c *embeddedtest.Call) error {
		switch {
		case c.Is("DeleteItem"):
			reserved.Wait() // a sweep that deletes the row by itself comes after the late attempt
		case c.Is("TransactWriteItems") && c.N == 1:
			return embeddedtest.ErrAnswerLost
		case c.Is("TransactWriteItems") && c.N == 2: // the time of this attempt was read before
			close(second)
			<-swept
		}

		return nil
	})
	s.transport.After(func(c *embeddedtest.Call) error {
		if c.Is("TransactWriteItems") && c.N == 3 { // the sweep's
			close(swept)
			reserved.Wait()
		}

		return nil
	})

	reserved.Go(func() {
		_ = s.ReserveUntil(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: 2}}, s.clock.Now().Add(time.Minute))
	})
	<-second
	s.clock.Advance(time.Hour)

	if _, err := s.ExpireDue(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	s.transport.Clear()
	s.clock.Advance(time.Hour)

	if _, err := s.ExpireDue(t.Context(), 10); err != nil {
		t.Fatal(err)
	}

	if l, _, err := s.Level(t.Context(), "mug"); err != nil || l.Available != 5 || l.Reserved != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
