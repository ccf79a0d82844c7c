package inventory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

func pieces(sku string, quantity int64) inventory.Line {
	return inventory.Line{SKU: sku, Quantity: quantity}
}

// TestAdjustMakesTheReservationHoldTheLines begins with each thing that an order can have
// reserved before.
func TestAdjustMakesTheReservationHoldTheLines(t *testing.T) {
	want := []inventory.Line{pieces("mug", 3), pieces("cap", 1)}

	for name, before := range map[string]func(*stock) error{
		"nothing":        func(*stock) error { return nil },
		"the same lines": func(s *stock) error { return s.Reserve(t.Context(), "o-1", want) },
		"fewer pieces":   func(s *stock) error { return s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 1)}) },
		"other pieces": func(s *stock) error {
			return s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 5), pieces("hat", 2)})
		},
		"pieces that end": func(s *stock) error { return s.ReserveUntil(t.Context(), "o-1", want, s.clock.Now().Add(time.Minute)) },
		"pieces that have expired": func(s *stock) error {
			err := s.ReserveUntil(t.Context(), "o-1", []inventory.Line{pieces("hat", 2)}, s.clock.Now().Add(time.Minute))
			s.clock.Advance(time.Hour)

			return err
		},
		"pieces that were swept": func(s *stock) error {
			err := s.ReserveUntil(t.Context(), "o-1", []inventory.Line{pieces("hat", 2)}, s.clock.Now().Add(time.Minute))
			s.clock.Advance(time.Hour)
			_, sweepErr := s.ExpireDue(t.Context(), 100)

			return errors.Join(err, sweepErr)
		},
		"added pieces": func(s *stock) error {
			add, err := s.AddIn("o-1", []inventory.Line{pieces("hat", 2), pieces("cap", 1)})
			if err != nil {
				return err
			}
			var tx txn.Transaction
			add(&tx)

			return s.writer.Write(t.Context(), &tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStock(t)
			for _, sku := range []string{"mug", "cap", "hat"} {
				set(t, s, sku, 10)
			}

			if err := before(s); err != nil {
				t.Fatal(err)
			}

			for range 2 {
				if err := s.Adjust(t.Context(), "o-1", want); err != nil {
					t.Fatal(err)
				}
				level(t, s, "mug", inventory.Level{Available: 7, Reserved: 3})
				level(t, s, "cap", inventory.Level{Available: 9, Reserved: 1})
				level(t, s, "hat", inventory.Level{Available: 10})
			}

			if covers, err := s.Covers(t.Context(), "o-1", want); !covers || err != nil {
				t.Errorf("covers its own lines: %v, %v", covers, err)
			}

			// To reserve the lines now is a repeat, and a sweep finds nothing to end.
			if err := s.Reserve(t.Context(), "o-1", want); err != nil {
				t.Errorf("reserved again: %v", err)
			}

			s.clock.Advance(24 * time.Hour)

			if _, err := s.ExpireDue(t.Context(), 100); err != nil {
				t.Error(err)
			}

			if err := s.Commit(t.Context(), "o-1"); err != nil {
				t.Error(err)
			}
			level(t, s, "mug", inventory.Level{Available: 7, Committed: 3})
			level(t, s, "hat", inventory.Level{Available: 10})
		})
	}
}

func TestAdjustToNoLinesGivesEverythingBack(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Adjust(t.Context(), "o-1", nil); err != nil {
		t.Errorf("an order that has reserved nothing: %v", err)
	}

	if err := errors.Join(s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 2)}), s.Adjust(t.Context(), "o-1", nil)); err != nil {
		t.Fatal(err)
	}
	level(t, s, "mug", inventory.Level{Available: 10})

	if err := s.Adjust(t.Context(), "o-1", []inventory.Line{pieces("mug", 4)}); err != nil {
		t.Errorf("reserved again: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 6, Reserved: 4})
}

// TestCoversSaysWhetherAdjustWrites: pieces of a reservation that has expired are set aside
// until it is swept, so an order without lines has to give them back.
func TestCoversSaysWhetherAdjustWrites(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	s.reserveUntil(t, "o-1", time.Minute)
	s.clock.Advance(time.Hour)

	for _, want := range []bool{false, true} {
		if covers, err := s.Covers(t.Context(), "o-1", nil); covers != want || err != nil {
			t.Errorf("covers no lines: %v, %v, want %v", covers, err, want)
		}
		s.transport.Reset()

		if err := s.Adjust(t.Context(), "o-1", nil); err != nil || (s.transport.Count("TransactWriteItems") == 0) != want {
			t.Errorf("%d writes, %v", s.transport.Count("TransactWriteItems"), err)
		}
	}
	level(t, s, "mug", inventory.Level{Available: 10})
}

func TestAdjustRefuses(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	set(t, s, "rare", 1)

	many := make([]inventory.Line, inventory.MaxLines)
	for i := range many {
		many[i] = pieces(fmt.Sprint("sku-", i), 1)
		set(t, s, many[i].SKU, 1)
	}

	one := []inventory.Line{pieces("mug", 1)}
	for _, order := range []string{"short", "sold", "returned"} {
		if err := s.Reserve(t.Context(), order, one); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(s.Commit(t.Context(), "sold"), s.Release(t.Context(), "returned")); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		order string
		lines []inventory.Line
		want  error
	}{
		"more than there is": {"short", []inventory.Line{pieces("mug", 1), pieces("rare", 2)}, inventory.ErrOutOfStock},
		"committed":          {"sold", one, inventory.ErrClosed},
		"released":           {"returned", one, inventory.ErrClosed},
		"an invalid line":    {"short", []inventory.Line{pieces("mug", 0)}, inventory.ErrInvalid},
		"no order":           {"", one, inventory.ErrInvalid},
		"too many SKUs":      {"short", append(many, pieces("x", 1)), inventory.ErrInvalid},
	} {
		if err := s.Adjust(t.Context(), c.order, c.lines); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}

		if covers, err := s.Covers(t.Context(), "short", []inventory.Line{pieces("mug", 2)}); covers || err != nil {
			t.Errorf("%s: it covers other lines: %v, %v", name, covers, err)
		}
	}
	level(t, s, "mug", inventory.Level{Available: 8, Reserved: 1, Committed: 1})
	level(t, s, "rare", inventory.Level{Available: 1})
}

// TestAdjustSurvivesALostAnswerAndAChangeInBetween: the second write of a lost answer, and a
// reservation that grew after it was read.
func TestAdjustSurvivesALostAnswerAndAChangeInBetween(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 1)}); err != nil {
		t.Fatal(err)
	}

	add, err := s.AddIn("o-1", []inventory.Line{pieces("mug", 2)})
	if err != nil {
		t.Fatal(err)
	}

	grown := false
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") || grown {
			return nil
		}
		grown = true

		var tx txn.Transaction
		add(&tx)

		return s.writer.Write(t.Context(), &tx)
	})
	s.transport.Inject(embeddedtest.LoseAnswer("TransactWriteItems").From(3).Next(1))

	if err := s.Adjust(t.Context(), "o-1", []inventory.Line{pieces("mug", 5)}); err != nil || !grown {
		t.Errorf("grown meanwhile (%v): %v", grown, err)
	}
	level(t, s, "mug", inventory.Level{Available: 5, Reserved: 5})
}

func TestSettleClosesAnOrderThatHasReservedNothing(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	for range 2 {
		if err := s.CommitAndClose(t.Context(), "o-1"); err != nil {
			t.Fatal(err)
		}
	}

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 1)}); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("a reservation after the pieces have left: %v", err)
	}

	if err := errors.Join(s.Reserve(t.Context(), "o-2", []inventory.Line{pieces("mug", 1)}), s.CommitAndClose(t.Context(), "o-2"), s.CommitAndClose(t.Context(), "o-2")); err != nil {
		t.Error(err)
	}
	level(t, s, "mug", inventory.Level{Available: 9, Committed: 1})

	if err := errors.Join(s.Release(t.Context(), "o-3"), s.CommitAndClose(t.Context(), "o-3")); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("settled after the release: %v", err)
	}
}

// meanwhile runs do once, before the next transaction is sent.
func (s *stock) meanwhile(do func()) {
	done := false
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("TransactWriteItems") && !done {
			done = true
			do()
		}

		return nil
	})
}

// TestAdjustSeesEveryChangeInBetween: the reservation changes between Adjust's read and its
// write, so Adjust begins again, and no piece is lost or set aside twice.
func TestAdjustSeesEveryChangeInBetween(t *testing.T) {
	for name, c := range map[string]struct {
		before, meanwhile func(t *testing.T, s *stock) error
	}{
		"the order reserves": {
			func(*testing.T, *stock) error { return nil },
			func(t *testing.T, s *stock) error {
				return s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 3)})
			},
		},
		"the reservation is adjusted and grows again": {
			func(t *testing.T, s *stock) error {
				return s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 4)})
			},
			func(t *testing.T, s *stock) error {
				err := s.Adjust(t.Context(), "o-1", []inventory.Line{pieces("mug", 1)})
				add, addErr := s.AddIn("o-1", []inventory.Line{pieces("mug", 1)})

				var tx txn.Transaction
				add(&tx)

				return errors.Join(err, addErr, s.writer.Write(t.Context(), &tx))
			},
		},
	} {
		s := newStock(t)
		set(t, s, "mug", 10)

		if err := c.before(t, s); err != nil {
			t.Fatal(err)
		}

		s.meanwhile(func() {
			if err := c.meanwhile(t, s); err != nil {
				t.Error(name, err)
			}
		})

		if err := s.Adjust(t.Context(), "o-1", []inventory.Line{pieces("mug", 5)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		level(t, s, "mug", inventory.Level{Available: 5, Reserved: 5})
	}
}

// TestAdjustWritesTheCallersPartsToo: a part that refuses keeps the reservation as it was,
// and the call returns the part's error.
func TestAdjustWritesTheCallersPartsToo(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	set(t, s, "audit", 0)
	errNo := errors.New("the order has other lines")

	audit := func(condition string) func(*txn.Transaction) {
		return func(tx *txn.Transaction) {
			update := dynamo.NewUpdate("inventory", dynamo.Item{"sku": dynamo.S("audit")}).If(condition).SetValue("seen", dynamo.N(1))
			tx.Add("audit", types.TransactWriteItem{Update: update.Part()}, txn.FailWith(errNo))
		}
	}
	lines := []inventory.Line{pieces("mug", 2)}

	if err := s.Adjust(t.Context(), "o-1", lines, audit("attribute_exists(seen)")); !errors.Is(err, errNo) {
		t.Errorf("a part that refuses: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 10})

	tooMany := []inventory.Line{pieces("mug", 11)}
	if err := s.Adjust(t.Context(), "o-1", tooMany, audit("attribute_exists(seen)")); !errors.Is(err, errNo) || errors.Is(err, inventory.ErrOutOfStock) {
		t.Errorf("a part that refuses lines for which pieces are missing: %v", err)
	}

	if err := s.Adjust(t.Context(), "o-1", lines, audit("attribute_not_exists(seen)")); err != nil {
		t.Errorf("a part that is written: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 8, Reserved: 2})

	if err := s.Adjust(t.Context(), "o-1", nil, audit("attribute_exists(seen)")); err != nil {
		t.Errorf("what the part has written: %v", err)
	}
}

// TestAdjustChangesAsManySKUsAsThereMayBeLines holds the bound of a transaction.
func TestAdjustChangesAsManySKUsAsThereMayBeLines(t *testing.T) {
	s := newStock(t)

	most := make([]inventory.Line, inventory.MaxLines)
	for i := range most {
		most[i] = pieces(fmt.Sprint("sku-", i), 1)
		set(t, s, most[i].SKU, 1)
	}

	if err := s.Adjust(t.Context(), "o-1", most); err != nil {
		t.Error(err)
	}

	if covers, err := s.Covers(t.Context(), "o-1", most); !covers || err != nil {
		t.Errorf("covers them: %v, %v", covers, err)
	}
	s.transport.Inject(embeddedtest.Answer("AccessDeniedException"))

	if covers, err := s.Covers(t.Context(), "o-1", most); covers || err == nil {
		t.Errorf("a reservation that cannot be read: %v, %v", covers, err)
	}
}

// TestAReservationThatEndsWhileItIsAdjustedIsGivenBackFirst: the end is compared with the time of each attempt.
func TestAReservationThatEndsWhileItIsAdjustedIsGivenBackFirst(t *testing.T) {
	s := newStock(t)
	set(t, s, "a", 2)
	lines := []inventory.Line{{SKU: "a", Quantity: 1}}

	if err := s.ReserveUntil(t.Context(), "o", lines, s.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}

	n, ended := 0, false
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") {
			return nil
		}
		ended = ended || strings.Contains(string(c.Body()), `"EXPIRED"`)

		if n++; n == 1 {
			s.clock.Advance(2 * time.Hour)
			return embeddedtest.Canceled("TransactionConflict", "None")
		}

		return nil
	})

	if err := s.Adjust(t.Context(), "o", []inventory.Line{{SKU: "a", Quantity: 2}}); err != nil || !ended {
		t.Errorf("given back %t, %v", ended, err)
	}
	level(t, s, "a", inventory.Level{Reserved: 2})
}
