package shipping_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// carrier is the sandbox, which counts its calls.
type carrier struct {
	*sandbox.Carrier
	tracking       string // if set, the tracking number of every shipment
	down           atomic.Bool
	books, cancels atomic.Int32
	deliver        func(shipping.Report)
	duringBook     func()
	afterBook      func() // before the answer arrives
	forgets        bool   // a cancellation
	broken         error  // the answer to a booking
}

func (c *carrier) Book(ctx context.Context, key, orderID string) (string, error) {
	c.books.Add(1)

	if c.duringBook != nil {
		c.duringBook()
	}

	tracking, err := c.Carrier.Book(ctx, key, orderID)

	if c.afterBook != nil {
		c.afterBook()
	}

	if c.broken != nil {
		return "", c.broken
	}

	if err == nil && c.tracking != "" {
		tracking = c.tracking
	}

	return tracking, err
}

func (c *carrier) Cancel(ctx context.Context, key string) (bool, error) {
	c.cancels.Add(1)

	if c.down.Load() {
		return false, sandbox.ErrUnavailable
	}

	if c.forgets {
		return false, nil
	}

	return c.Carrier.Cancel(ctx, key)
}

func (c *carrier) Get(ctx context.Context, key string) (shipping.Shipment, error) {
	if c.down.Load() {
		return shipping.Shipment{}, sandbox.ErrUnavailable
	}

	return c.Carrier.Get(ctx, key)
}

func newBooker(t *testing.T) (*shipping.Booker, *carrier, *once.Claims) {
	t.Helper()

	db := embeddedtest.DynamoDB(t, sandbox.Table("carrier"), once.TableInput("once"))
	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	c := &carrier{}

	c.Carrier, err = sandbox.New(sandbox.Config{DynamoDB: db, Table: "carrier", Log: embeddedtest.Quiet(),
		Deliver: func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			if c.deliver != nil {
				c.deliver(r)
			}

			return shipping.Accepted, nil
		}})
	if err != nil {
		t.Fatal(err)
	}

	booker, err := shipping.New(shipping.Config{Claims: claims, Carrier: c})
	if err != nil {
		t.Fatal(err)
	}

	return booker, c, claims
}

const key = "o-1/2/shipping"

func TestConcurrentBookingsGetOneTrackingNumber(t *testing.T) {
	booker, _, _ := newBooker(t)

	var mu sync.Mutex
	var got []string
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for {
				tracking, err := booker.Book(t.Context(), key, "o-1")
				if errors.Is(err, once.ErrInProgress) {
					continue
				}

				if err != nil {
					t.Error(err)
					return
				}

				mu.Lock()
				got = append(got, tracking)
				mu.Unlock()

				return
			}
		})
	}
	group.Wait()

	slices.Sort(got)

	if len(got) != 20 || len(slices.Compact(got)) != 1 {
		t.Errorf("tracking numbers %v", got)
	}
}

// TestCancelClosesTheClaimFirst cancels a shipment that was never booked, while the carrier
// is down and again afterwards.
func TestCancelClosesTheClaimFirst(t *testing.T) {
	booker, carrier, _ := newBooker(t)
	carrier.down.Store(true)

	if _, err := booker.Cancel(t.Context(), key); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}

	for range 2 {
		if _, err := booker.Book(t.Context(), key, "o-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("got %v", err)
		}
	}

	if n := carrier.books.Load(); n != 0 {
		t.Errorf("the carrier was asked to book %d times", n)
	}

	carrier.down.Store(false)

	for range 2 {
		if left, err := booker.Cancel(t.Context(), key); err != nil || left {
			t.Errorf("left %t, %v", left, err)
		}
	}

	if n := carrier.cancels.Load(); n != 3 {
		t.Errorf("the carrier was asked to cancel %d times, want 3", n)
	}
}

// TestABookingThatIsUnderWayIsCanceled cancels while the carrier is booking: before it has
// taken the booking, and before its answer has arrived. A carrier that forgets the first
// cancellation is asked again.
func TestABookingThatIsUnderWayIsCanceled(t *testing.T) {
	for _, row := range []struct {
		is            string
		late, forgets bool
		cancels       int32
	}{
		{is: "before the carrier has taken it", cancels: 1},
		{is: "before the carrier has taken it, and forgets", forgets: true, cancels: 2},
		{is: "before the answer", late: true, cancels: 2},
	} {
		booker, carrier, _ := newBooker(t)
		carrier.forgets = row.forgets
		cancel := func() {
			if left, err := booker.Cancel(t.Context(), key); err != nil || left {
				t.Errorf("%s: left %t, %v", row.is, left, err)
			}
			carrier.forgets = false
		}

		if row.late {
			carrier.afterBook = cancel
		} else {
			carrier.duringBook = cancel
		}

		if _, err := booker.Book(t.Context(), key, "o-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("%s: book: %v", row.is, err)
		}

		if n := carrier.cancels.Load(); n != row.cancels {
			t.Errorf("%s: the carrier was asked to cancel %d times, want %d", row.is, n, row.cancels)
		}

		// The carrier itself has no shipment under the key.
		if _, err := carrier.Carrier.Book(t.Context(), key, "o-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("%s: at the carrier: %v", row.is, err)
		}
	}
}

// TestCancelSaysThatTheParcelHadLeft cancels after the carrier has reported the shipment.
func TestCancelSaysThatTheParcelHadLeft(t *testing.T) {
	booker, carrier, _ := newBooker(t)

	if _, err := booker.Book(t.Context(), key, "o-1"); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	carrier.deliver = func(r shipping.Report) {
		if r.Milestone == shipping.Delivered {
			stop()
		}
	}

	if err := carrier.Run(ctx); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if left, err := booker.Cancel(t.Context(), key); err != nil || !left {
			t.Errorf("left %t, %v", left, err)
		}
	}
}

// TestATrackingNumberIsNoCancellation: no text of a carrier is mistaken for a cancellation.
func TestATrackingNumberIsNoCancellation(t *testing.T) {
	for _, tracking := range []string{"cancelled", "canceled", `{"canceled":true}`, "null", "12", ""} {
		booker, carrier, _ := newBooker(t)
		carrier.tracking = tracking

		want := tracking
		if want == "" {
			want = "trk-o-1-2-shipping"
		}

		for range 2 {
			if got, err := booker.Book(t.Context(), key, "o-1"); err != nil || got != want {
				t.Errorf("tracking number %q: got %q, %v", want, got, err)
			}
		}
	}
}

// TestAResultThatCannotBeReadIsAnError, and nothing is booked.
func TestAResultThatCannotBeReadIsAnError(t *testing.T) {
	for _, stored := range []string{"trk-7", "12", "{}", `{"tracking":`, "canceled"} {
		booker, carrier, claims := newBooker(t)

		if _, _, err := claims.Do(t.Context(), key, []byte("o-1"), func(context.Context, *once.Claim) ([]byte, error) {
			return []byte(stored), nil
		}); err != nil {
			t.Fatal(err)
		}

		if got, err := booker.Book(t.Context(), key, "o-1"); err == nil || !strings.Contains(err.Error(), "read the stored result") || carrier.books.Load() != 0 {
			t.Errorf("%s: got %q, %v; the carrier was asked %d times", stored, got, err, carrier.books.Load())
		}

		if booked, err := booker.Recover(t.Context(), key, "o-1"); err == nil || booked {
			t.Errorf("%s: recovered: %t, %v", stored, booked, err)
		}

		if _, err := booker.Cancel(t.Context(), key); err != nil || carrier.cancels.Load() != 1 {
			t.Errorf("%s: cancel: %v; the carrier was asked %d times", stored, err, carrier.cancels.Load())
		}
	}
}

// TestAFailureIsNoBooking, and no cancellation: of the carrier, and of the claims.
func TestAFailureIsNoBooking(t *testing.T) {
	booker, c, _ := newBooker(t)
	c.broken = errors.New("the carrier breaks")

	if tracking, err := booker.Book(t.Context(), key, "o-1"); !errors.Is(err, c.broken) || tracking != "" {
		t.Errorf("booked as %q, %v", tracking, err)
	}

	// Canceled while it was booked, and the carrier cannot be asked again.
	c.broken = nil
	c.afterBook = func() {
		if _, err := booker.Cancel(t.Context(), key); err != nil {
			t.Error(err)
		}
		c.down.Store(true)
	}

	if tracking, err := booker.Book(t.Context(), key, "o-1"); !errors.Is(err, sandbox.ErrUnavailable) || tracking != "" {
		t.Errorf("booked as %q, %v", tracking, err)
	}

	ended, end := context.WithCancel(t.Context())
	end()

	if _, err := booker.Cancel(ended, "o-2/2/shipping"); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "close its claim") {
		t.Errorf("canceled: %v", err)
	}
}

// TestARecoveryStoresWhatTheCarrierKnows, and books nothing.
func TestARecoveryStoresWhatTheCarrierKnows(t *testing.T) {
	recovered := func(booker *shipping.Booker, want bool) {
		t.Helper()

		if got, err := booker.Recover(t.Context(), key, "o-1"); err != nil || got != want {
			t.Fatalf("recovered %t, %v, want %t", got, err, want)
		}
	}

	booker, carrier, claims := newBooker(t)
	recovered(booker, false)

	if _, found, err := claims.Get(t.Context(), key); found || err != nil {
		t.Fatalf("a claim of nothing: %t, %v", found, err)
	}

	tracking, err := carrier.Carrier.Book(t.Context(), key, "o-1")
	if err != nil {
		t.Fatal(err)
	}

	mute, err := shipping.New(shipping.Config{Claims: claims, Carrier: struct{ shipping.Carrier }{carrier}})
	if err != nil {
		t.Fatal(err)
	}
	recovered(mute, false) // its carrier cannot be asked

	recovered(booker, true)
	recovered(mute, true) // it is stored

	if got, err := booker.Book(t.Context(), key, "o-1"); err != nil || got != tracking || carrier.books.Load() > 0 {
		t.Errorf("booked %q, %v, by %d calls; want %q by none", got, err, carrier.books.Load(), tracking)
	}

	canceled, carrier, _ := newBooker(t)
	if _, err := carrier.Carrier.Cancel(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	recovered(canceled, false)

	// It was not canceled here, so the recovery has stored nothing.
	if _, err := canceled.Book(t.Context(), key, "o-1"); !errors.Is(err, shipping.ErrCanceledByCarrier) || errors.Is(err, shipping.ErrCanceled) || !strings.Contains(err.Error(), "has: shipment canceled") {
		t.Errorf("a booking after the recovery of a canceled shipment: %v", err)
	}
}

// TestAFailureIsNoRecovery: a carrier that cannot be asked may have booked.
func TestAFailureIsNoRecovery(t *testing.T) {
	booker, carrier, claims := newBooker(t)
	carrier.down.Store(true)

	if booked, err := booker.Recover(t.Context(), key, "o-1"); !errors.Is(err, sandbox.ErrUnavailable) || booked || !strings.Contains(err.Error(), "o-1") {
		t.Errorf("recovered %t, %v", booked, err)
	}

	if _, found, err := claims.Get(t.Context(), key); found || err != nil {
		t.Errorf("a claim of a failure: %t, %v", found, err)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := shipping.New(shipping.Config{})
	if err == nil || !strings.Contains(err.Error(), "Claims") || !strings.Contains(err.Error(), "Carrier") {
		t.Errorf("got %v", err)
	}
}
