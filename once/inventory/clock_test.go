package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/embedded/faults"
	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

const transact = "TransactWriteItems"

// delay makes the next transaction conflict, and ten minutes pass before its next attempt.
func (s *stock) delay() {
	n := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is(transact) {
			return nil
		}

		if n++; n > 1 {
			return nil
		}
		s.clock.Advance(10 * time.Minute)

		return &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"}
	})
}

var oneCup = []inventory.Line{{SKU: "cup", Quantity: 1}}

// calls are the calls of an order that has reserved two mugs.
var calls = map[string]func(context.Context, testing.TB, *stock) error{
	"Commit": func(ctx context.Context, _ testing.TB, s *stock) error { return s.Commit(ctx, "o-1") },
	"CommitAndClose, expected": func(ctx context.Context, _ testing.TB, s *stock) error {
		return s.CommitAndClose(ctx, "o-1", twoMugs...)
	},
	"CommitAndClose": func(ctx context.Context, _ testing.TB, s *stock) error { return s.CommitAndClose(ctx, "o-1") },
	"Release":        func(ctx context.Context, _ testing.TB, s *stock) error { return s.Release(ctx, "o-1") },
	"Reserve":        func(ctx context.Context, _ testing.TB, s *stock) error { return s.Reserve(ctx, "o-1", twoMugs) },
	"Reserve others": func(ctx context.Context, _ testing.TB, s *stock) error { return s.Reserve(ctx, "o-1", oneCup) },
	"ReserveUntil": func(ctx context.Context, _ testing.TB, s *stock) error {
		return s.ReserveUntil(ctx, "o-1", twoMugs, embeddedtest.Start.Add(24*time.Hour))
	},
	"AddIn": func(_ context.Context, t testing.TB, s *stock) error { return s.addIn(t, "o-1", oneCup...) },
	"ReserveIn": func(_ context.Context, t testing.TB, s *stock) error {
		return s.reserveIn(t, "o-1", twoMugs, time.Time{})
	},
	"Adjust": func(ctx context.Context, _ testing.TB, s *stock) error { return s.Adjust(ctx, "o-1", twoMugs) },
	"Adjust others": func(ctx context.Context, _ testing.TB, s *stock) error {
		return s.Adjust(ctx, "o-1", oneCup)
	},
}

// outcome is what a call has answered and left.
type outcome struct {
	err         string
	reservation inventory.Reservation
	mugs, cups  inventory.Level
}

// outcome reads the reservation as it is, and the counters as a sweep leaves them.
func (s *stock) outcome(t testing.TB, err error) outcome {
	t.Helper()

	o := outcome{err: fmt.Sprint(err)}
	if refused := (*txn.CanceledError)(nil); errors.As(err, &refused) {
		o.err = refused.Err.Error() // the text of the error itself names the other refused parts
	}

	var errs [4]error
	o.reservation, _, errs[0] = s.Reservation(t.Context(), "o-1")
	_, errs[1] = s.ExpireDue(t.Context(), 1000)
	o.mugs, _, errs[2] = s.Level(t.Context(), "mug")
	o.cups, _, errs[3] = s.Level(t.Context(), "cup")

	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}

	return o
}

// After the end, every call answers and leaves the same, whether a sweep has come before or not, and
// whether the end has passed before the call or during it.
func TestNoAnswerDependsOnASweep(t *testing.T) {
	for name, call := range calls {
		var want outcome

		for _, way := range []string{"swept", "not swept", "the end passes during the call"} {
			s := newStock(t)
			set(t, s, "mug", 2)
			set(t, s, "cup", 2)
			s.reserveUntil(t, "o-1", time.Minute)

			if way == "the end passes during the call" {
				s.delay()
			} else {
				s.clock.Advance(10 * time.Minute)
			}

			if way == "swept" {
				s.sweep(t, 1)
				want = s.outcome(t, call(t.Context(), t, s))
			} else if got := s.outcome(t, call(t.Context(), t, s)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s:\n%+v, after a sweep:\n%+v", name, way, got, want)
			}
		}
	}
}

// The order would be sold without the pieces that it had reserved first.
func TestACommitNeverSellsAPart(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 2)
	set(t, s, "cup", 2)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(time.Hour)
	s.sweep(t, 1)

	if err := s.addIn(t, "o-1", oneCup...); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("added: %v", err)
	}

	if err := s.Commit(t.Context(), "o-1"); !errors.Is(err, inventory.ErrExpired) {
		t.Errorf("committed: %v", err)
	}

	if err := errors.Join(s.Reserve(t.Context(), "o-1", twoMugs), s.addIn(t, "o-1", oneCup...), s.Commit(t.Context(), "o-1")); err != nil {
		t.Errorf("reserved again: %v", err)
	}
	level(t, s, "mug", inventory.Level{Committed: 2})
	level(t, s, "cup", inventory.Level{Available: 1, Committed: 1})
}

func TestAWrongClockEndsNothingEarlyAndKeepsNothingLonger(t *testing.T) {
	for _, ahead := range []time.Duration{-72 * time.Hour, 72 * time.Hour} {
		s := newStock(t)
		set(t, s, "mug", 4)
		s.reserveUntil(t, "o-1", time.Hour)
		s.reserveUntil(t, "o-2", time.Minute)
		s.clock.Advance(10 * time.Minute)

		for order, want := range map[string]error{"o-1": nil, "o-2": inventory.ErrExpired} {
			if r, _, err := s.onAClock(t, ahead).Reservation(t.Context(), order); err != nil || (r.Status == inventory.Expired) != (want != nil) {
				t.Errorf("%s ahead: %+v, %v", ahead, r, err)
			}

			add, err := s.onAClock(t, ahead).AddIn(order, []inventory.Line{{SKU: "mug", Quantity: 5}})
			if err != nil {
				t.Fatal(err)
			}

			var tx txn.Transaction
			add(&tx)

			if err := s.writer.Write(t.Context(), &tx); want == nil && !errors.Is(err, inventory.ErrOutOfStock) || want != nil && !errors.Is(err, want) {
				t.Errorf("%s ahead, %s: added: %v", ahead, order, err)
			}
		}

		if n, err := s.onAClock(t, ahead).ExpireDue(t.Context(), 10); err != nil || n != 1 || s.dueRows(t) != 1 {
			t.Errorf("%s ahead: swept %d, %v, %d rows left", ahead, n, err, s.dueRows(t))
		}

		if err := s.onAClock(t, ahead).Commit(t.Context(), "o-1"); err != nil {
			t.Errorf("%s ahead: %v", ahead, err)
		}

		if err := s.onAClock(t, ahead).Commit(t.Context(), "o-2"); !errors.Is(err, inventory.ErrExpired) {
			t.Errorf("%s ahead: %v", ahead, err)
		}
	}
}

// The row of a reservation that still runs must stay: no other row would end it.
func TestARowThatIsNotDueYetStays(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 4)
	s.reserveUntil(t, "o-1", time.Hour)
	s.clock.Advance(2 * time.Hour)
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("GetItem") { // the clock is set between the reading of the rows and of the reservation
			s.clock.Set(embeddedtest.Start.Add(time.Minute))
		}

		return nil
	})
	s.sweep(t, 0)
	s.transport.Clear()

	if err := s.Commit(t.Context(), "o-1"); err != nil || s.dueRows(t) != 1 {
		t.Errorf("%v, %d rows", err, s.dueRows(t))
	}
}

// A SKU that lacks the pieces tells nothing while the reservation is in conflict: the call that has
// it may have moved them.
func TestALockedReservationIsNoContradictionOfTheCounters(t *testing.T) {
	for _, name := range []string{"Commit", "CommitAndClose"} {
		s := newStock(t)
		set(t, s, "mug", 4)

		if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
			t.Fatal(err)
		}

		n := 0
		s.transport.Before(func(c *embeddedtest.Call) error {
			if !c.Is(transact) {
				return nil
			}

			if n++; n > 1 {
				return nil
			}
			// Another call ends the reservation between the read and the write of this one.
			if err := s.Commit(t.Context(), "o-1"); err != nil {
				t.Error(err)
			}

			return embeddedtest.Canceled("TransactionConflict", "ConditionalCheckFailed")
		})

		if err := calls[name](t.Context(), t, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		level(t, s, "mug", inventory.Level{Available: 2, Committed: 2})
	}
}

func TestOnlyEvidenceEndsAnUnansweredCall(t *testing.T) {
	denied := &embeddedtest.Error{Code: "AccessDeniedException"}
	writes := maps.Clone(calls)
	delete(writes, "Reserve others") // refused at once
	delete(writes, "ReserveIn")      // refused at once
	writes["Set"] = func(ctx context.Context, _ testing.TB, s *stock) error { return s.Set(ctx, "mug", 7) }
	writes["Reserve for another order"] = func(ctx context.Context, _ testing.TB, s *stock) error { return s.Reserve(ctx, "o-2", twoMugs) }

	for name, call := range writes {
		synctest.Test(t, func(t *testing.T) {
			s := newStockOn(t, embeddedtest.Open(t).AWSConfig())
			set(t, s, "mug", 4)
			set(t, s, "cup", 4)
			s.reserveUntil(t, "o-1", time.Minute)

			// A repeat with another end is refused first, and then extends the reservation.
			skip, n := 0, 0
			if name == "Reserve" || name == "ReserveUntil" {
				skip = 1
			}

			s.transport.Before(func(c *embeddedtest.Call) error {
				if !c.Is(transact, "UpdateItem") {
					return nil
				}

				switch n++; {
				case n <= skip:
					return nil
				case n == skip+1:
					return faults.ErrAnswerLost
				}

				return denied
			})

			err := call(t.Context(), t, s)
			if n < skip+2 || !errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) {
				t.Errorf("%s: %v after %d writes", name, err, n)
			}
		})
	}
}

// An attempt without an answer that was made is not taken for another call's write: the call gets the
// answer of its first attempt.
func TestAnUnansweredAttemptThatWasMadeIsRecognized(t *testing.T) {
	for name, call := range calls {
		if name == "AddIn" || name == "ReserveIn" || name == "Reserve others" {
			continue // parts of the caller's transaction, whose marker decides; a refusal
		}

		var want outcome
		for _, lost := range []bool{false, true} {
			s := newStock(t)
			set(t, s, "mug", 4)
			set(t, s, "cup", 4)
			s.reserveUntil(t, "o-1", time.Minute)

			if lost {
				s.transport.Inject(embeddedtest.LoseAnswer(transact).Next(1))
			}

			if got := s.outcome(t, call(t.Context(), t, s)); !lost {
				want = got
			} else if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n%+v, with an answer:\n%+v", name, got, want)
			}
		}
	}
}

// A second sweeper has read the same row, and its clock shows another time: the row that it makes is another one. The
// next sweep that postpones both makes them one again.
func TestRowsOfTwoSweepersBecomeOneAgain(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 4)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(time.Hour)

	// The counter was removed by hand, so that the reservation cannot be ended.
	broken := dynamo.NewUpdate("inventory", dynamo.Item{"sku": dynamo.S("mug")}).RemoveAttribute("reserved")
	if _, err := s.db.UpdateItem(t.Context(), broken.Input()); err != nil {
		t.Fatal(err)
	}

	n := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("PutItem") {
			return nil
		}

		if n++; n > 1 {
			return nil
		}
		s.clock.Advance(time.Second)

		if count, err := s.ExpireDue(t.Context(), 10); count != 1 || err == nil {
			t.Errorf("the second sweeper: %d, %v", count, err)
		}

		return nil
	})

	if count, err := s.ExpireDue(t.Context(), 10); count != 1 || err == nil || n != 2 {
		t.Errorf("the first sweeper: %d, %v, %d postponements", count, err, n)
	}
	s.clock.Advance(2 * time.Minute)

	if count, err := s.ExpireDue(t.Context(), 10); count != 2 || err == nil || s.dueRows(t) != 1 {
		t.Errorf("the next sweep: %d, %v, and %d rows", count, err, s.dueRows(t))
	}
}
