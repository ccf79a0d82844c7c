package reports_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// sameID is a report under an id that the carrier uses for everything.
func sameID(order string, m shipping.Milestone) shipping.Report {
	r := report(order, m)
	r.ID = "r-1"

	return r
}

// named returns the only stored report of an order that waits or needs a person.
func (o *office) named(order string) reports.Stored {
	o.t.Helper()

	for _, effect := range []reports.Effect{reports.Waiting, reports.Attention} {
		all, _, err := o.List(o.t.Context(), effect, "", 100)
		if err != nil {
			o.t.Fatal(err)
		}

		for _, s := range all {
			if s.OrderID == order {
				return s
			}
		}
	}
	o.t.Fatal("no report of order " + order + " is stored")

	return reports.Stored{}
}

// TestReportsWithOneIDWaitEachByItself: none takes the place of another, in whatever sequence they and
// their repeats come, and each is applied when its order can take it.
func TestReportsWithOneIDWaitEachByItself(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.order("o-2", workflow.Pay)

	all := []shipping.Report{sameID("o-1", shipping.Delivered), sameID("o-2", shipping.Delivered), sameID("o-2", shipping.Delivered)}
	all[2].Shipment = "o-2/" + string(life) + "/3/shipping"

	var group sync.WaitGroup
	for range 3 {
		for _, r := range all {
			group.Go(func() { o.receive(r, reports.Waiting) })
		}
	}
	group.Wait()
	o.stored(reports.Waiting, "PAYMENT_RECEIVED", "PAYMENT_RECEIVED", "PAYMENT_RECEIVED")

	for _, order := range []string{"o-1", "o-2"} {
		o.receive(report(order, shipping.Shipped), reports.Applied)
		o.clock.Advance(time.Hour)
		o.sweep()

		if got := o.state(transitions.OrderID(order)); got != workflow.Delivered {
			t.Errorf("order %s is %s", order, got)
		}
	}
	o.stored(reports.Waiting)
}

// TestReportsWithOneIDAreRefusedEachByItself.
func TestReportsWithOneIDAreRefusedEachByItself(t *testing.T) {
	o := newOffice(t, nil)

	for range 2 {
		for _, order := range []string{"none", "other"} {
			o.receive(sameID(order, shipping.Shipped), reports.Refused)
		}
	}

	if all := o.stored(reports.Refused, "NotFound", "NotFound"); all[0].OrderID == all[1].OrderID {
		t.Errorf("one took the place of the other: %+v", all)
	}

	o.clock.Advance(30 * 24 * time.Hour)
	o.stored(reports.Refused) // also while the rows are still there
	o.receive(sameID("third", shipping.Shipped), reports.Refused)

	if all := o.stored(reports.Refused, "NotFound"); all[0].OrderID != "third" || all[0].Name != "third/r-1" {
		t.Errorf("%+v", all)
	}
}

// TestReportsWithOneIDAreKnownEachByItself, while the carrier cannot be asked.
func TestReportsWithOneIDAreKnownEachByItself(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {Status: shipping.Shipped}})
	o.order("o-1", workflow.Pay)

	both := []shipping.Report{sameID("o-1", shipping.Booked), sameID("o-1", shipping.Shipped)}
	for _, r := range both {
		o.receive(r, reports.Applied)
	}
	o.says(errors.New("maintenance"))

	for _, r := range both {
		o.receive(r, reports.Applied)
	}
	o.receive(sameID("o-1", shipping.Delivered), reports.Waiting)
}

// TestASweepEndsOnlyWhatItHasRead: while it judges a report, another worker ends that, and the carrier
// sends another one with the same id, which gets the name.
func TestASweepEndsOnlyWhatItHasRead(t *testing.T) {
	for name, events := range map[string][]workflow.Event{
		"it would delete the row":   {workflow.Ship},
		"it would postpone the row": nil,
	} {
		effect := map[bool]reports.Effect{true: reports.Attention, false: reports.Waiting}[len(events) > 0]
		o := newOffice(t, nil)
		o.order("o-1", workflow.Pay)
		o.order("o-2", workflow.Pay)
		o.receive(sameID("o-1", shipping.Delivered), reports.Waiting)
		o.move("o-1", events...)

		o.wire.Before(func(c *embeddedtest.Call) error {
			if !strings.Contains(string(c.Body()), `"orders"`) {
				return nil
			}

			o.wire.Clear()
			err := o.forget("r-1")
			o.receive(sameID("o-1", shipping.Returned), effect)

			return err
		})
		o.clock.Advance(time.Minute)
		o.sweep()

		if all := o.stored(effect, ""); all[0].Milestone != shipping.Returned || all[0].Tries != 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestASettlementThatWasEndedActsNoMore: the stream repeats its record.
func TestASettlementThatWasEndedActsNoMore(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1")
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Applied)
	last := parcel("o-1", "b", shipping.Returned, 0)
	o.receive(last, reports.Attention)
	settle(o)
	o.stored(reports.Attention, "without a delivery", "without a delivery")

	for _, id := range []string{last.ID, "parcels/o-1." + string(life) + "/returned"} {
		if _, err := o.MarkDone(t.Context(), o.find(shipping.Report{OrderID: "o-1", ID: id}), ada); err != nil {
			t.Fatal(err)
		}
	}

	settle(o)
	o.stored(reports.Attention)

	o.move("o-1", workflow.Deliver)
	settle(o)

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}

// TestARepeatThatSaysMoreWaitsOnce: it has the name of the first one, although its content is another.
func TestARepeatThatSaysMoreWaitsOnce(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	r := sameID("o-1", shipping.Delivered)
	o.receive(r, reports.Waiting)
	r.Tracking = "told later"
	o.receive(r, reports.Waiting)

	if all := o.stored(reports.Waiting, "PAYMENT_RECEIVED"); all[0].Tracking != "told later" || all[0].Name != "o-1/"+r.ID {
		t.Errorf("%+v", all[0])
	}
}

// TestAListHasAtMostSoMany, over all its shards, and all reports in the end.
func TestAListHasAtMostSoMany(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for i := range 20 {
		r := report("o-1", shipping.Delivered)
		r.ID = fmt.Sprint("r-", i)
		o.receive(r, reports.Waiting)
	}

	for limit := 1; limit <= 20; limit += 3 {
		found := map[string]bool{}

		for after := ""; ; {
			page, next, err := o.List(t.Context(), reports.Waiting, after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("limit %d: %d reports, %v", limit, len(page), err)
			}

			for _, s := range page {
				found[s.ID] = true
			}

			if after = next; after == "" {
				break
			}
		}

		if len(found) != 20 {
			t.Errorf("limit %d: %d reports", limit, len(found))
		}
	}
}
