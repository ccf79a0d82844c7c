package reports_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestTakeStoresNothing: the carrier repeats its report. Only what is rejected is logged.
func TestTakeStoresNothing(t *testing.T) {
	var log bytes.Buffer

	o := newOffice(t, nil, func(c *reports.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	o.order("o-1", workflow.Pay)
	o.order("canceled", workflow.Pay, workflow.Cancel)

	for _, test := range []struct {
		report shipping.Report
		want   shipping.Answer
		logged string
	}{
		{report("o-1", shipping.Delivered), shipping.Retry, ""},
		{report("o-1", shipping.Returned), shipping.Retry, ""},
		{report("o-1", shipping.Shipped), shipping.Accepted, ""},
		{report("canceled", shipping.Shipped), shipping.Rejected, "the order is CANCELLED"},
	} {
		log.Reset()

		got, err := o.Take(t.Context(), test.report)
		if err != nil || got != test.want || (log.Len() > 0) != (test.logged != "") || !strings.Contains(log.String(), test.logged) {
			t.Errorf("%s: %v, %v, logged %q", test.report.ID, got, err, log.String())
		}
	}
	o.stored(reports.Waiting)
	o.stored(reports.Refused)

	broken := o.wire.Inject(embeddedtest.Answer("AccessDeniedException"))
	defer broken.Remove()

	if got, err := o.Take(t.Context(), report("o-1", shipping.Delivered)); err == nil || got != shipping.Retry {
		t.Errorf("while nothing answers: %v, %v", got, err)
	}
}

// TestAReturnIsTwoRequests, whose ids and causes name the report. Before the shipment it only waits.
func TestAReturnIsTwoRequests(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Returned), reports.Waiting)
	o.move("o-1", workflow.Ship)

	for _, m := range []shipping.Milestone{shipping.Delivered, shipping.Returned} {
		o.receive(report("o-1", m), reports.Applied)
	}

	order, _, err := o.orders.Get(t.Context(), "o-1")
	if err != nil || len(order.Recent()) < 3 {
		t.Fatal(order, err)
	}

	newest := order.Recent()[len(order.Recent())-3:]
	for i, want := range []struct {
		id   transitions.RequestID
		code string
	}{
		{"carrier/r/o-1/delivered", ""},
		{"carrier/r/o-1/returned/request_return", "carrier-returned"},
		{"carrier/r/o-1/returned", "carrier-returned"},
	} {
		if tr := newest[i]; !tr.IsBy(want.id) || tr.Cause.Code != want.code {
			t.Errorf("transition %+v, want one by %s with the code %q", tr, want.id, want.code)
		}
	}
}
