package reports_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ada is a person who has given the money back elsewhere.
var ada = transitions.Cause{Actor: "cli:ada", Source: "cli", Text: "paid back by hand"}

// comesBack sends a parcel of an order that was paid elsewhere, and takes it back: a person is
// needed.
func comesBack(o *office) shipping.Report {
	o.t.Helper()

	o.order("o-1", workflow.Pay)
	o.sent("o-1")
	r := parcel("o-1", "a", shipping.Returned, 0)
	o.receive(r, reports.Attention)

	return r
}

func (o *office) find(r shipping.Report) reports.Stored {
	o.t.Helper()

	s, err := o.Find(o.t.Context(), r.OrderID+"/"+r.ID)
	if err != nil {
		o.t.Fatal(err)
	}

	return s
}

// TestAPersonEndsAReportOnce: it leaves the list for good, with who, why and when. Neither a repeat
// of the carrier nor a second closing changes that.
func TestAPersonEndsAReportOnce(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)
	before := o.find(r)

	var group sync.WaitGroup
	closed := make([]reports.Stored, 4)

	for i, actor := range []string{"cli:ada", "cli:bob", "key:2vq0", "cli:eve"} {
		group.Go(func() {
			var err error
			if closed[i], err = o.MarkDone(t.Context(), before, transitions.Cause{Actor: actor, Text: "by hand"}); err != nil {
				t.Errorf("%s: %v", actor, err)
			}
		})
	}
	group.Wait()

	first := *closed[0].Closing
	for _, s := range closed {
		if s.Effect != reports.Done || *s.Closing != first || s.ID != r.ID || s.Reason != before.Reason {
			t.Errorf("closed: %+v, want %+v", s, first)
		}
	}

	o.clock.Advance(24 * time.Hour)
	o.receive(r, reports.Done)
	o.sweep()
	o.stored(reports.Attention)

	all := o.stored(reports.Done, "paid elsewhere")
	if len(all) != 1 || *all[0].Closing != first || !first.At.Equal(o.clock.Now().Add(-24*time.Hour)) {
		t.Errorf("listed: %+v, want %+v", all, first)
	}

	if s, err := o.MarkDone(t.Context(), o.find(r), ada); err != nil || *s.Closing != first {
		t.Errorf("again: %+v, %v", s, err)
	}
}

// TestAReportThatWasEndedActsNoMore: the transition that the report asks for becomes possible later.
func TestAReportThatWasEndedActsNoMore(t *testing.T) {
	o := newOffice(t, nil, func(c *reports.Config) { c.RefundReturns = false })
	o.paid("o-1")
	o.sent("o-1")
	r := parcel("o-1", "a", shipping.Returned, 0)
	o.receive(r, reports.Attention)
	stale := o.find(r)

	if _, err := o.MarkDone(t.Context(), stale, ada); err != nil {
		t.Fatal(err)
	}

	willing, err := reports.New(reports.Config{DynamoDB: o.db, Table: "reports", Orders: o.orders, Payments: o.payments, RefundReturns: true})
	if err != nil {
		t.Fatal(err)
	}

	willing.SetClock(o.clock.Now)

	if got, err := willing.Receive(t.Context(), r); err != nil || got != reports.Done {
		t.Errorf("a repeat: %q, %v", got, err)
	}

	// A repeat that was judged before the closing is stored after it.
	if err := o.restore(stale); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)

	if err := willing.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	o.stored(reports.Attention)
	o.refunded("o-1", o.state("o-1"), 0)

	o.clock.Advance(400 * 24 * time.Hour)
	o.receive(r, reports.Attention) // it is forgotten
}

// TestAnEndingIsOfOneReport: the carrier uses its id again, for another parcel or another order. Each
// is ended by itself.
func TestAnEndingIsOfOneReport(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)
	first := o.find(r)

	o.order("o-2", workflow.Pay)
	o.sent("o-2")
	again := parcel("o-2", "a", shipping.Returned, 0)
	again.ID = r.ID
	o.receive(again, reports.Attention)
	second := o.named("o-2")

	closed, err := o.MarkDone(t.Context(), first, ada)
	if err != nil || closed.OrderID != "o-1" {
		t.Fatalf("%+v, %v", closed, err)
	}

	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Attention, "paid elsewhere")
	o.receive(r, reports.Done)
	o.receive(again, reports.Attention)

	b := parcel("o-1", "b", shipping.Returned, 0)
	b.ID = r.ID

	if got, err := o.Receive(t.Context(), b); err != nil || got == reports.Done {
		t.Errorf("another parcel: %s, %v", got, err)
	}

	for range 2 {
		if got, err := o.MarkDone(t.Context(), second, ada); err != nil || got.OrderID != "o-2" || got.Name != second.Name {
			t.Errorf("the report of the other order: %+v, %v", got, err)
		}
		o.receive(again, reports.Done)
	}

	all := o.stored(reports.Done, "paid elsewhere", "paid elsewhere")
	if all[0].OrderID != "o-1" || *all[0].Closing != *closed.Closing || all[1].OrderID != "o-2" {
		t.Errorf("%+v", all)
	}
}

// TestAnEndingFindsItsNameTaken: the first report with the id was ended, so the second one has its name.
func TestAnEndingFindsItsNameTaken(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)

	if _, err := o.MarkDone(t.Context(), o.find(r), ada); err != nil {
		t.Fatal(err)
	}

	again := parcel("o-1", "b", shipping.Returned, 0)
	again.ID = r.ID
	o.receive(again, reports.Attention)
	second := o.find(r)

	for range 2 {
		if got, err := o.MarkDone(t.Context(), second, ada); err != nil || got.Parcel != "b" || got.Name == second.Name {
			t.Errorf("%+v, %v", got, err)
		}
	}
	o.receive(r, reports.Done)
	o.receive(again, reports.Done)
	o.stored(reports.Attention)
}

func TestAnEndingIsRefused(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)
	s := o.find(r)

	for rule, cause := range map[string]transitions.Cause{
		"who and why": {Text: "by nobody"},
		"and why":     {Actor: "cli:ada"},
		"cause.actor": {Actor: "a b", Code: "x"},
	} {
		if _, err := o.MarkDone(t.Context(), s, cause); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%+v: %v", cause, err)
		}
	}

	if _, err := o.Find(t.Context(), "r-unknown"); !errors.Is(err, reports.ErrUnknownReport) {
		t.Errorf("unknown: %v", err)
	}

	o.order("o-2", workflow.Pay)
	early := report("o-2", shipping.Delivered)
	o.receive(early, reports.Waiting)

	if _, err := o.Find(t.Context(), "o-2/"+early.ID); !errors.Is(err, reports.ErrNoAttention) {
		t.Errorf("one that waits: %v", err)
	}

	// The carrier says something else before the person acts.
	changed := s
	changed.Tracking = "told later"

	if err := o.restore(changed); err != nil {
		t.Fatal(err)
	}

	if _, err := o.MarkDone(t.Context(), s, ada); !errors.Is(err, reports.ErrNoAttention) {
		t.Errorf("one that has changed: %v", err)
	}

	// It leaves the list before the person acts.
	if err := o.forget(r.ID); err != nil {
		t.Fatal(err)
	}

	if _, err := o.MarkDone(t.Context(), s, ada); !errors.Is(err, reports.ErrNoAttention) {
		t.Errorf("one that has left: %v", err)
	}
	o.stored(reports.Done)
}

// TestARepeatWhileTheCarrierIsDownGetsTheFirstAnswer, and other content under the same id does not.
func TestARepeatWhileTheCarrierIsDownGetsTheFirstAnswer(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {Status: shipping.Shipped}})
	o.order("o-1", workflow.Pay)
	r := report("o-1", shipping.Shipped)
	o.receive(r, reports.Applied)

	o.says(errors.New("maintenance"))
	r.Tracking = "told later"
	o.receive(r, reports.Applied)
	o.stored(reports.Waiting)

	other := r
	other.Milestone = shipping.Delivered
	o.receive(other, reports.Waiting)

	o.clock.Advance(30*24*time.Hour - time.Second)
	o.receive(r, reports.Applied)
	o.clock.Advance(time.Second)
	o.receive(r, reports.Waiting) // it is forgotten
}

// TestAnEndingIsForgottenInTheEnd: from then on the same report is ended by another person.
func TestAnEndingIsForgottenInTheEnd(t *testing.T) {
	o := newOffice(t, nil)
	r := comesBack(o)

	for range 2 {
		s, err := o.MarkDone(t.Context(), o.find(r), ada)
		if err != nil || s.Closing == nil || !s.Closing.At.Equal(o.clock.Now()) {
			t.Fatalf("%+v, %v", s, err)
		}
		o.clock.Advance(400*24*time.Hour - time.Second)
		o.receive(r, reports.Done)
		o.clock.Advance(time.Second)
		o.receive(r, reports.Attention)
	}
}
