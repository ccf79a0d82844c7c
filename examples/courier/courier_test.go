package main

import (
	"errors"
	"sync"
	"testing"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

func open(t *testing.T) courier {
	t.Helper()

	c, err := newCourier(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestAReportIsBelievedOnceTheParcelHasLeft: the shop books one label, asks the courier about a
// report that comes too early, and takes it later.
func TestAReportIsBelievedOnceTheParcelHasLeft(t *testing.T) {
	c := open(t)
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Parts: server.Parts{Carrier: c}}})
	env.SetStock("mug", 1)
	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.PaymentReceived, 2)

	order, found, err := env.Backend.Orders.Get(t.Context(), "o-1")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	key := order.EffectKey(2, shipping.Effect)

	env.Wait("the label", func() (bool, string, error) {
		s, err := c.Get(t.Context(), key)
		return err == nil && s.Status == shipping.Booked, "", nil
	})

	report := shipping.Report{ID: "r-1", Shipment: key, OrderID: "o-1", Milestone: shipping.Shipped}
	if effect, err := env.Backend.Reports.Receive(t.Context(), report); err != nil || effect != reports.Waiting {
		t.Fatalf("before the parcel has left: %v, %v", effect, err)
	}

	if err := c.PickUpOrder("o-1"); err != nil {
		t.Fatal(err)
	}

	if effect, err := env.Backend.Reports.Receive(t.Context(), report); err != nil || effect != reports.Applied {
		t.Fatalf("after that: %v, %v", effect, err)
	}
	env.WantOrder("o-1", workflow.Shipped, 3)
}

// TestTheParcelsOfAnOrderLeaveTogether: a canceled one and those of other orders stay.
func TestTheParcelsOfAnOrderLeaveTogether(t *testing.T) {
	c := open(t)
	for key, order := range map[string]string{"o-1/life/2/shipping": "o-1", "o-1/life/3/shipping": "o-1", "o-1/life/4/shipping": "o-1", "o-2/life/2/shipping": "o-2"} {
		if _, err := c.Book(t.Context(), key, order); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := c.Cancel(t.Context(), "o-1/life/3/shipping"); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := c.PickUpOrder("o-1"); err != nil {
			t.Fatal(err)
		}
	}

	for key, want := range map[string]shipping.Milestone{
		"o-1/life/2/shipping": shipping.Shipped, "o-1/life/3/shipping": shipping.Canceled, "o-1/life/4/shipping": shipping.Shipped,
		"o-2/life/2/shipping": shipping.Booked,
	} {
		if s, err := c.Get(t.Context(), key); err != nil || s.Status != want {
			t.Errorf("%s is %s, %v; want %s", key, s.Status, err, want)
		}
	}

	if err := c.PickUpOrder("o-3"); !errors.Is(err, shipping.ErrUnknownShipment) {
		t.Errorf("an order without a parcel: %v", err)
	}
}

// TestTheCourierActsOncePerKey: the first of a booking and a cancellation decides.
func TestTheCourierActsOncePerKey(t *testing.T) {
	c := open(t)

	numbers := make([]string, 8)
	var group sync.WaitGroup
	for i := range numbers {
		group.Go(func() { numbers[i], _ = c.Book(t.Context(), "a", "o-1") })
	}
	group.Wait()

	for _, number := range numbers {
		if number == "" || number != numbers[0] {
			t.Fatalf("the numbers of one key: %q", numbers)
		}
	}

	if err := c.PickUp("a"); err != nil {
		t.Fatal(err)
	}

	if left, err := c.Cancel(t.Context(), "a"); err != nil || !left {
		t.Errorf("a cancellation after the parcel has left: %v, %v", left, err)
	}

	if number, err := c.Book(t.Context(), "a", "o-1"); err != nil || number != numbers[0] {
		t.Errorf("a repeat after that: %s, %v", number, err)
	}

	for _, booked := range []bool{true, false} {
		key := map[bool]string{true: "booked", false: "not booked"}[booked]
		if booked {
			if _, err := c.Book(t.Context(), key, "o-2"); err != nil {
				t.Fatal(err)
			}
		}

		for range 2 {
			if left, err := c.Cancel(t.Context(), key); err != nil || left {
				t.Errorf("%s: a cancellation: %v, %v", key, left, err)
			}
		}

		if _, err := c.Book(t.Context(), key, "o-2"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("%s: a booking after the cancellation: %v", key, err)
		}

		if c.PickUp(key) == nil {
			t.Errorf("%s: it leaves after the cancellation", key)
		}
	}

	if _, err := c.Get(t.Context(), "unknown"); !errors.Is(err, shipping.ErrUnknownShipment) {
		t.Errorf("an unknown key: %v", err)
	}
}
