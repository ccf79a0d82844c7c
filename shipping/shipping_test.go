package shipping_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDesk(t *testing.T) (*shipping.Desk, *sandbox.Carrier) {
	t.Helper()

	db := embeddedtest.DynamoDB(t, sandbox.Table("carrier"), once.TableInput("once"))
	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}
	carrier := &sandbox.Carrier{DynamoDB: db, Table: "carrier", Log: embeddedtest.Quiet(), Every: time.Millisecond}

	return shipping.NewDesk(claims, carrier), carrier
}

func TestConcurrentBookingsGetOneTrackingNumber(t *testing.T) {
	desk, _ := newDesk(t)

	var mu sync.Mutex
	var got []string
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for {
				tracking, err := desk.Book(t.Context(), "o-1/2/shipping", "o-1")
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

	if len(slices.Compact(got)) != 1 {
		t.Errorf("tracking numbers %v", got)
	}
}

func TestCanceledShipmentIsNeverBooked(t *testing.T) {
	desk, _ := newDesk(t)
	for range 2 {
		if err := desk.Cancel(t.Context(), "o-1/2/shipping"); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 {
		if _, err := desk.Book(t.Context(), "o-1/2/shipping", "o-1"); !errors.Is(err, shipping.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	}
}

// TestTheCarrierReportsInOrderAndInsists books one shipment; the shop is not ready
// for the first two reports.
func TestTheCarrierReportsInOrderAndInsists(t *testing.T) {
	desk, carrier := newDesk(t)
	ctx, stop := context.WithCancel(t.Context())
	var got []sandbox.Report
	carrier.Deliver = func(_ context.Context, r sandbox.Report) (sandbox.Answer, error) {
		got = append(got, r)
		switch {
		case len(got) == 1:
			return sandbox.Later, nil
		case len(got) == 2:
			return sandbox.Later, errors.New("unavailable")
		case r.Milestone == sandbox.Delivered:
			stop()
		}

		return sandbox.Taken, nil
	}

	if _, err := desk.Book(t.Context(), "o-1/2/shipping", "o-1"); err != nil {
		t.Fatal(err)
	}

	if err := carrier.Run(ctx); err != nil {
		t.Fatal(err)
	}

	shipped := sandbox.Report{ID: "carrier/o-1/2/shipping/shipped", OrderID: "o-1", Milestone: sandbox.Shipped}
	delivered := sandbox.Report{ID: "carrier/o-1/2/shipping/delivered", OrderID: "o-1", Milestone: sandbox.Delivered}
	if want := []sandbox.Report{shipped, shipped, shipped, delivered}; !slices.Equal(got, want) {
		t.Errorf("reports %v, want %v", got, want)
	}
}
