package inventory_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/inventory"
	"ratchet/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shop is stock on an engine of its own, with a clock that tests move and calls that
// they interfere with.
type shop struct {
	*inventory.Stock
	db     *dynamodb.Client
	writer *txn.Writer
	now    atomic.Int64
	// before may refuse a call, after may lose the answer to one that was carried out.
	before, after func(operation string) bool
	http          *http.Client
}

func (s *shop) Now() time.Time          { return time.UnixMilli(s.now.Load()) }
func (s *shop) advance(d time.Duration) { s.now.Add(d.Milliseconds()) }

func (s *shop) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if s.before != nil && s.before(operation) {
		return nil, io.ErrUnexpectedEOF
	}

	response, err := s.http.Do(r)
	if err == nil && s.after != nil && s.after(operation) {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}

	return response, err
}

// backend is an embedded engine of the test's own, or the DynamoDB Local whose URL is
// in RATCHET_TEST_DYNAMODB_LOCAL, which keeps the data of each access key apart.
func backend(t testing.TB) (aws.Config, *http.Client) {
	t.Helper()

	endpoint := os.Getenv("RATCHET_TEST_DYNAMODB_LOCAL")
	if endpoint == "" {
		engine := embeddedtest.Open(t)
		return engine.AWSConfig(), engine.HTTPClient()
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(client.CloseIdleConnections)

	return aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(rand.Text(), "secret", "")}, client
}

func newStock(t testing.TB) *shop {
	t.Helper()
	cfg, client := backend(t)
	s := &shop{http: client}
	s.now.Store(start.UnixMilli())
	cfg.HTTPClient = s
	s.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			o.RateLimiter = ratelimit.None
		})
	})
	embeddedtest.Create(t, s.db, inventory.TableInput("inventory"), inventory.DueTableInput("due"))

	var err error
	if s.Stock, err = inventory.New(inventory.Config{DynamoDB: s.db, Table: "inventory", DueTable: "due", Every: time.Millisecond, Now: s.Now}); err != nil {
		t.Fatal(err)
	}

	if s.writer, err = txn.New(txn.Config{DynamoDB: s.db}); err != nil {
		t.Fatal(err)
	}

	return s
}

func set(t testing.TB, s *shop, sku string, quantity int64) {
	t.Helper()

	if err := s.Set(t.Context(), sku, quantity); err != nil {
		t.Fatal(err)
	}
}

func level(t testing.TB, s *shop, sku string, want inventory.Level) {
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

func TestBadLinesAreNamed(t *testing.T) {
	s := newStock(t)
	for name, lines := range map[string][]inventory.Line{
		"none": nil, "no sku": {{"", 1}}, "an order's key": {{"order#1", 1}}, "no quantity": {{"a", 0}}, "too much": {{"a", inventory.MaxQuantity + 1}},
	} {
		if err := s.Reserve(t.Context(), "o", lines); !errors.Is(err, inventory.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := s.Reserve(t.Context(), "", []inventory.Line{{"a", 1}}); !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("no order: %v", err)
	}

	if err := s.ReserveUntil(t.Context(), "o", []inventory.Line{{"a", 1}}, start); !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("an end that is past: %v", err)
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

	if err := s.ReserveUntil(t.Context(), "o", many[1:], start.Add(time.Hour)); err != nil {
		t.Errorf("as many lines as may be: %v", err)
	}

	if err := s.Commit(t.Context(), "o"); err != nil {
		t.Error(err)
	}
}

func TestAnotherReservationOfTheOrderIsAConflict(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{"mug", 2}}); err != nil {
		t.Fatal(err)
	}

	if err := s.Reserve(t.Context(), "o-1", []inventory.Line{{"mug", 3}}); !errors.Is(err, inventory.ErrConflict) || !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("other lines: %v", err)
	}
	level(t, s, "mug", inventory.Level{Available: 8, Reserved: 2})
}
