package reports_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/shipping/sandbox"
	"ratchet/workflow"
)

const firstShipment = "o-1/" + string(life) + "/2/shipping"

// newBookings returns an office with a paid order, whose carrier is the sandbox and can be asked, and the
// booker of its shipments.
func newBookings(t *testing.T) (*office, *sandbox.Carrier, *shipping.Booker) {
	t.Helper()

	o := newOffice(t, nil)
	embeddedtest.Create(t, o.db, sandbox.Table("carrier"))

	carrier, err := sandbox.New(sandbox.Config{DynamoDB: o.db, Table: "carrier", Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	claims, err := once.New(once.Config{DynamoDB: o.db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	o.order("o-1", workflow.Pay)

	booker, err := shipping.New(shipping.Config{Claims: claims, Carrier: carrier, Numbers: o.Receiver})
	if err != nil {
		t.Fatal(err)
	}

	return o, carrier, booker
}

// TestACarrierCancelsAShipmentByItself: its report stands in front of a person, who has another shipment
// booked, as often as the carrier cancels. The reports of the newest one move the order.
func TestACarrierCancelsAShipmentByItself(t *testing.T) {
	o, carrier, booker := newBookings(t)

	if _, err := booker.Book(t.Context(), firstShipment, "o-1"); err != nil {
		t.Fatal(err)
	}

	if _, err := booker.BookAgain(t.Context(), firstShipment, "o-1"); !errors.Is(err, shipping.ErrNotCanceled) {
		t.Errorf("booked again beside a booking: %v", err)
	}

	for _, shipment := range []string{firstShipment, firstShipment + "/2"} {
		if _, err := carrier.Cancel(t.Context(), shipment); err != nil {
			t.Fatal(err)
		}

		canceled := shipping.Report{ID: "c" + shipment, Shipment: shipment, OrderID: "o-1", Milestone: shipping.Canceled}
		o.receive(canceled, reports.Attention)

		// Two people decide at the same moment, and a third one later.
		var group sync.WaitGroup
		var mu sync.Mutex
		var got []string
		for range 3 {
			group.Go(func() {
				tracking, err := booker.BookAgain(t.Context(), firstShipment, "o-1")
				if err != nil && !errors.Is(err, shipping.ErrNotCanceled) {
					t.Error(err)
				}

				mu.Lock()
				defer mu.Unlock()

				got = append(got, tracking)
			})
		}
		group.Wait()

		slices.Sort(got)

		if got = slices.Compact(slices.DeleteFunc(got, func(s string) bool { return s == "" })); len(got) != 1 {
			t.Fatalf("booked %q", got)
		}

		o.clock.Advance(time.Hour)
		o.sweep()
		o.stored(reports.Attention)
		o.receive(canceled, reports.Applied)
	}

	shipment, err := carrier.Get(t.Context(), firstShipment+"/3")
	if err != nil || shipment.Status != shipping.Booked {
		t.Errorf("the third shipment: %+v, %v", shipment, err)
	}

	// The end of the order cancels every one of them.
	o.move("o-1", workflow.Cancel)

	if left, err := booker.Cancel(t.Context(), firstShipment); err != nil || left {
		t.Error(left, err)
	}

	if shipment, err = carrier.Get(t.Context(), firstShipment+"/3"); err != nil || shipment.Status != shipping.Canceled {
		t.Errorf("the third shipment after the order was canceled: %+v, %v", shipment, err)
	}

	if _, err := booker.BookAgain(t.Context(), firstShipment, "o-1"); !errors.Is(err, reports.ErrNoShipment) {
		t.Errorf("booked again for a canceled order: %v", err)
	}
}

// TestAnOrderThatIsNotToBeShippedGetsNoOtherShipment: neither on hold nor after its end, also if the
// cancellation of its shipments comes later.
func TestAnOrderThatIsNotToBeShippedGetsNoOtherShipment(t *testing.T) {
	for _, event := range []workflow.Event{workflow.Hold, workflow.Cancel, workflow.Ship} {
		o, carrier, booker := newBookings(t)
		if _, err := carrier.Cancel(t.Context(), firstShipment); err != nil {
			t.Fatal(err)
		}
		o.move("o-1", event)

		if _, err := booker.BookAgain(t.Context(), firstShipment, "o-1"); !errors.Is(err, reports.ErrNoShipment) {
			t.Errorf("after %s: %v", event, err)
		}
	}
}

// TestACrashAfterTheNumberWasTaken: a repeat books under the number that the first call has taken.
func TestACrashAfterTheNumberWasTaken(t *testing.T) {
	o, carrier, booker := newBookings(t)
	if _, err := carrier.Cancel(t.Context(), firstShipment); err != nil {
		t.Fatal(err)
	}

	if err := o.Advance(t.Context(), firstShipment, 2); err != nil {
		t.Fatal(err)
	}

	if err := o.Advance(t.Context(), firstShipment, 2); !errors.Is(err, shipping.ErrNumberTaken) {
		t.Errorf("taken twice: %v", err)
	}

	if _, err := booker.BookAgain(t.Context(), firstShipment, "o-1"); err != nil {
		t.Fatal(err)
	}

	if number, err := o.Newest(t.Context(), firstShipment); number != 2 || err != nil {
		t.Error(number, err)
	}

	// A redriven record of the payment gets the shipment that was booked again.
	if tracking, err := booker.Book(t.Context(), firstShipment, "o-1"); err != nil || tracking == "" {
		t.Error(tracking, err)
	}
}

// TestACancellationOfAnOrderThatHasEndedIsApplied: it is ours, or it comes too late to matter.
func TestACancellationOfAnOrderThatHasEndedIsApplied(t *testing.T) {
	for events, effect := range map[string]reports.Effect{
		"cancel": reports.Applied, "hold": reports.Attention, "ship": reports.Attention, "ship deliver": reports.Applied,
	} {
		o, carrier, _ := newBookings(t)
		if _, err := carrier.Cancel(t.Context(), firstShipment); err != nil {
			t.Fatal(err)
		}

		for _, event := range strings.Fields(events) {
			o.move("o-1", workflow.Event(event))
		}
		o.receive(shipping.Report{ID: "c", Shipment: firstShipment, OrderID: "o-1", Milestone: shipping.Canceled}, effect)
	}
}
