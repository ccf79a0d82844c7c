package inventory_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/inventory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStock(t *testing.T) *inventory.Stock {
	t.Helper()
	return inventory.New(embeddedtest.DynamoDB(t, inventory.TableInput("inventory")), "inventory")
}

func set(t testing.TB, s *inventory.Stock, sku string, quantity int64) {
	t.Helper()
	if err := s.Set(t.Context(), sku, quantity); err != nil {
		t.Fatal(err)
	}
}

func level(t testing.TB, s *inventory.Stock, sku string, want inventory.Level) {
	t.Helper()
	want.SKU = sku
	got, _, err := s.Level(t.Context(), sku)
	if err != nil || got != want {
		t.Errorf("level %+v (error %v), want %+v", got, err, want)
	}
}

func TestReserveCommitReleaseAreIdempotentPerOrder(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	lines := []inventory.Line{{"mug", 2}, {"mug", 1}}
	for range 2 {
		if err := s.Reserve(t.Context(), "o-1", lines); err != nil {
			t.Fatal(err)
		}
		level(t, s, "mug", inventory.Level{Available: 7, Reserved: 3})
	}
	for range 2 {
		if err := s.Commit(t.Context(), "o-1"); err != nil {
			t.Fatal(err)
		}
		level(t, s, "mug", inventory.Level{Available: 7, Committed: 3})
	}
	if err := s.Release(t.Context(), "o-1"); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("sold pieces do not come back by release: %v", err)
	}
	if err := s.Reserve(t.Context(), "o-2", lines); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Release(t.Context(), "o-2"); err != nil {
			t.Fatal(err)
		}
		level(t, s, "mug", inventory.Level{Available: 7, Committed: 3})
	}
	if err := s.Reserve(t.Context(), "o-2", lines); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("a released order reserves nothing again: %v", err)
	}
}

func TestReleaseBeforeReserveClosesTheOrder(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	for range 2 {
		if err := s.Release(t.Context(), "o-1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{"mug", 1}}); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("the reservation came late: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 10})
}

func TestOutOfStockNamesTheSKUAndReservesNothing(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	set(t, s, "rare", 1)
	err := s.Reserve(t.Context(), "o-1", []inventory.Line{{"mug", 2}, {"rare", 2}, {"unknown", 1}})
	if !errors.Is(err, inventory.ErrOutOfStock) || err.Error() != "reserve for order o-1: out of stock: rare, unknown" {
		t.Errorf("got %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 10})
}

func TestNoOversellAmongManyBuyers(t *testing.T) {
	s := newStock(t)
	set(t, s, "rare", 7)
	var sold atomic.Int32
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			err := s.Reserve(t.Context(), fmt.Sprintf("o-%d", i), []inventory.Line{{"rare", 1}})
			switch {
			case err == nil:
				sold.Add(1)
			case !errors.Is(err, inventory.ErrOutOfStock):
				t.Errorf("o-%d: %v", i, err)
			}
		})
	}
	group.Wait()
	if sold.Load() != 7 {
		t.Errorf("%d of 7 pieces were reserved", sold.Load())
	}
	level(t, s, "rare", inventory.Level{Reserved: 7})
}

func TestPiecesAreNeitherMadeNorLost(t *testing.T) {
	s := newStock(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		sku := fmt.Sprintf("sku-%d", n)
		set(t, s, sku, 20)
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			order := fmt.Sprintf("o-%d-%d", n, rapid.IntRange(0, 3).Draw(rt, "order"))
			var err error
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				err = s.Reserve(t.Context(), order, []inventory.Line{{sku, int64(rapid.IntRange(1, 9).Draw(rt, "quantity"))}})
			case 1:
				err = s.Commit(t.Context(), order)
			case 2:
				err = s.Release(t.Context(), order)
			}
			if err != nil && !errors.Is(err, inventory.ErrOutOfStock) && !errors.Is(err, inventory.ErrClosed) {
				rt.Fatal(err)
			}
			l, _, err := s.Level(t.Context(), sku)
			if err != nil || l.Available < 0 || l.Reserved < 0 || l.Available+l.Reserved+l.Committed != 20 {
				rt.Fatalf("level %+v, error %v", l, err)
			}
		}
	})
}

func TestBadLinesAreNamed(t *testing.T) {
	s := newStock(t)
	for name, lines := range map[string][]inventory.Line{
		"none": nil, "no sku": {{"", 1}}, "an order's key": {{"order#1", 1}}, "no quantity": {{"a", 0}}, "too much": {{"a", inventory.MaxQuantity + 1}},
	} {
		if err := s.Reserve(t.Context(), "o", lines); !errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
