package inventory_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stock is the stock on an engine of its own, with a clock and a transport that the test
// controls.
type stock struct {
	*inventory.Stock
	db        *dynamodb.Client
	writer    *txn.Writer
	clock     embeddedtest.Clock
	transport *embeddedtest.Transport
}

func newStock(t testing.TB) *stock {
	t.Helper()

	return newStockOn(t, embeddedtest.Backend(t))
}

func newStockOn(t testing.TB, cfg aws.Config) *stock {
	t.Helper()

	cfg.Retryer = embeddedtest.RetryAtOnce
	s := &stock{transport: embeddedtest.Intercept(&cfg)}
	cfg.HTTPClient = embeddedtest.Dated{Doer: cfg.HTTPClient, Now: s.clock.Now}
	cfg.APIOptions = nil // the steps that an engine in the same process leaves out read the Date
	s.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, s.db, inventory.TableInput("inventory"), inventory.DueTableInput("due"))
	s.Stock = s.with(t, inventory.Events{})

	var err error
	if s.writer, err = txn.New(txn.Config{DynamoDB: s.db}); err != nil {
		t.Fatal(err)
	}

	return s
}

// with opens the same tables with observers.
func (s *stock) with(t testing.TB, events inventory.Events) *inventory.Stock {
	t.Helper()

	return s.open(t, inventory.Config{Events: events, Now: s.clock.Now})
}

// onAClock opens the same tables on a machine whose clock is ahead of the service's.
func (s *stock) onAClock(t testing.TB, ahead time.Duration) *inventory.Stock {
	t.Helper()

	return s.open(t, inventory.Config{Now: func() time.Time { return s.clock.Now().Add(ahead) }})
}

func (s *stock) open(t testing.TB, cfg inventory.Config) *inventory.Stock {
	t.Helper()

	cfg.DynamoDB, cfg.Table, cfg.DueTable = s.db, "inventory", "due"
	cfg.SetEvery(time.Millisecond)

	stock, err := inventory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return stock
}

func set(t testing.TB, s *stock, sku string, quantity int64) {
	t.Helper()

	if err := s.Set(t.Context(), sku, quantity); err != nil {
		t.Fatal(err)
	}
}

func level(t testing.TB, s *stock, sku string, want inventory.Level) {
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

	lines := []inventory.Line{{SKU: "mug", Quantity: 2}, {SKU: "mug", Quantity: 1}}
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
		t.Errorf("a release must not return sold pieces: %v", err)
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
		t.Errorf("an order that was released must not reserve again: %v", err)
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

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: 1}}); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("a reservation after the release: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 10})
}

func TestOutOfStockNamesTheSKUAndReservesNothing(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	set(t, s, "rare", 1)

	err := s.Reserve(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: 2}, {SKU: "rare", Quantity: 2}, {SKU: "unknown", Quantity: 1}})
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
			err := s.Reserve(t.Context(), fmt.Sprintf("o-%d", i), []inventory.Line{{SKU: "rare", Quantity: 1}})
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

func TestBadLinesAreNamed(t *testing.T) {
	s := newStock(t)
	for _, test := range []struct {
		about string
		lines []inventory.Line
	}{
		{about: "no lines", lines: nil},
		{about: "no SKU", lines: []inventory.Line{{SKU: "", Quantity: 1}}},
		{about: "the key of a reservation", lines: []inventory.Line{{SKU: "order#1", Quantity: 1}}},
		{about: "no quantity", lines: []inventory.Line{{SKU: "a", Quantity: 0}}},
		{about: "too many pieces", lines: []inventory.Line{{SKU: "a", Quantity: inventory.MaxQuantity + 1}}},
	} {
		if err := s.Reserve(t.Context(), "o", test.lines); !errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%s: %v", test.about, err)
		}
	}

	if err := s.Reserve(t.Context(), "", []inventory.Line{{SKU: "a", Quantity: 1}}); !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("no order: %v", err)
	}

	if err := s.ReserveUntil(t.Context(), "o", []inventory.Line{{SKU: "a", Quantity: 1}}, embeddedtest.Start); !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("an end in the past: %v", err)
	}

	many := make([]inventory.Line, inventory.MaxLines+1)
	for i := range many {
		many[i] = inventory.Line{SKU: fmt.Sprint(i), Quantity: 1}
	}

	if err := s.Reserve(t.Context(), "o", many); !errors.Is(err, inventory.ErrInvalid) || !strings.Contains(err.Error(), "99 different SKUs, at most 98") {
		t.Errorf("too many lines: %v", err)
	}

	for _, l := range many {
		set(t, s, l.SKU, 1)
	}

	if err := s.ReserveUntil(t.Context(), "o", many[1:], embeddedtest.Start.Add(time.Hour)); err != nil {
		t.Errorf("as many lines as may be: %v", err)
	}

	if err := s.Commit(t.Context(), "o"); err != nil {
		t.Error(err)
	}
}

func TestAnotherReservationOfTheOrderIsAConflict(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: 2}}); err != nil {
		t.Fatal(err)
	}

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{SKU: "mug", Quantity: 3}}); !errors.Is(err, inventory.ErrConflict) || !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("other lines: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 8, Reserved: 2})
}

func TestNewReportsEveryFaultOfItsConfig(t *testing.T) {
	_, err := inventory.New(inventory.Config{})
	if err == nil {
		t.Fatal("an empty configuration was accepted")
	}

	for _, want := range []string{"Config.DynamoDB: must be set", "Config.Table: must be set", "Config.DueTable: must be set"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestBadNamesAreRefusedWithoutARequest(t *testing.T) {
	s := newStock(t)
	s.transport.Reset()

	_, _, levelErr := s.Level(t.Context(), "order#1")
	_, _, reservationErr := s.Reservation(t.Context(), "")
	_, addErr := s.AddIn("", []inventory.Line{{SKU: "mug", Quantity: 1}})

	for verb, err := range map[string]error{
		"Set":         s.Set(t.Context(), "mug", -1),
		"Level":       levelErr,
		"Reservation": reservationErr,
		"AddIn":       addErr,
		"Commit":      s.Commit(t.Context(), ""),
	} {
		if !errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%s: %v", verb, err)
		}
	}

	if n := s.transport.Count(); n != 0 {
		t.Errorf("%d requests for arguments that are invalid", n)
	}
}
