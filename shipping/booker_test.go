package shipping_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newBooker(t *testing.T) *shipping.Booker {
	t.Helper()

	db := embeddedtest.DynamoDB(t, sandbox.Table("carrier"), once.TableInput("once"))
	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	carrier, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: "carrier", Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	booker, err := shipping.New(shipping.Config{Claims: claims, Carrier: carrier})
	if err != nil {
		t.Fatal(err)
	}

	return booker
}

func TestConcurrentBookingsGetOneTrackingNumber(t *testing.T) {
	booker := newBooker(t)

	var mu sync.Mutex
	var got []string
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for {
				tracking, err := booker.Book(t.Context(), "o-1/2/shipping", "o-1")
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

func TestCanceledShipmentIsNeverBooked(t *testing.T) {
	booker := newBooker(t)
	for range 2 {
		if err := booker.Cancel(t.Context(), "o-1/2/shipping"); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 {
		if _, err := booker.Book(t.Context(), "o-1/2/shipping", "o-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := shipping.New(shipping.Config{})
	if err == nil || !strings.Contains(err.Error(), "Claims") || !strings.Contains(err.Error(), "Carrier") {
		t.Errorf("got %v", err)
	}
}
