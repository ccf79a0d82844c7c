package reports_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// TestThePausesOfAWaitingReport double up to an hour.
func TestThePausesOfAWaitingReport(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Delivered), reports.Waiting)

	for i, want := range []time.Duration{15, 15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600} {
		all := o.stored(reports.Waiting, "PAYMENT_RECEIVED")
		if pause := all[0].NextTry.Sub(o.clock.Now()); pause != want*time.Second || all[0].Tries != int64(i) {
			t.Errorf("after %d tries a pause of %v, want %v", all[0].Tries, pause, want*time.Second)
		}
		o.clock.Advance(all[0].NextTry.Sub(o.clock.Now()))
		o.sweep()
	}
}

// TestASweepThatComesTooLateChangesNothing: others have tried the report since it was read.
func TestASweepThatComesTooLateChangesNothing(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Delivered), reports.Waiting)
	o.clock.Advance(time.Hour)

	o.wire.Before(func(c *embeddedtest.Call) error {
		if c.Operation != "UpdateItem" || !strings.Contains(string(c.Body()), "nextTry") {
			return nil
		}
		o.wire.Clear()

		for range 2 {
			o.sweep()
			o.clock.Advance(time.Hour)
		}

		return nil
	})
	o.sweep()

	if all := o.stored(reports.Waiting, "PAYMENT_RECEIVED"); all[0].Tries != 2 {
		t.Errorf("%d tries, want 2", all[0].Tries)
	}
}

// TestWhatAPersonMustSeeIsLogged: a report that needs a person or is refused is logged. A waiting
// report is not.
func TestWhatAPersonMustSeeIsLogged(t *testing.T) {
	var log bytes.Buffer

	o := newOffice(t, nil, func(c *reports.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	o.order("o-1", workflow.Pay)

	for _, test := range []struct {
		report shipping.Report
		effect reports.Effect
		logged string
	}{
		{report("o-1", shipping.Delivered), reports.Waiting, ""},
		{report("o-1", shipping.Shipped), reports.Applied, ""},
		{report("o-1", shipping.Returned), reports.Attention, "needs a person"},
		{report("none", shipping.Shipped), reports.Refused, "is refused"},
	} {
		log.Reset()
		o.receive(test.report, test.effect)

		if !strings.Contains(log.String(), test.logged) || (log.Len() > 0) != (test.logged != "") {
			t.Errorf("%s: logged %q, want %q", test.effect, &log, test.logged)
		}
	}

	if all := o.stored(reports.Refused, "NotFound"); !all[0].Since.Equal(o.clock.Now()) {
		t.Errorf("refused since %v", all[0].Since)
	}
}

// TestAReportWaitsUntilItIsStoredAsRefused: while that fails, or its removal, a sweep fails and it waits.
func TestAReportWaitsUntilItIsStoredAsRefused(t *testing.T) {
	for operation, part := range map[string]string{"UpdateItem": `"refused"`, "DeleteItem": "waiting#"} {
		o := newOffice(t, map[string]shipping.Shipment{})
		o.order("o-1", workflow.Pay, workflow.Ship)
		o.receive(report("o-1", shipping.Shipped), reports.Waiting)
		o.clock.Advance(8 * 24 * time.Hour)

		broken := o.wire.Inject(embeddedtest.Answer("AccessDeniedException", operation).If(func(c *embeddedtest.Call) bool {
			return strings.Contains(string(c.Body()), part)
		}))

		for range 2 {
			if err := o.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("%s fails, and the sweep says %v", operation, err)
			}
			o.stored(reports.Waiting, "does not know")
		}
		broken.Remove()
		o.sweep()
		o.stored(reports.Waiting)
		o.stored(reports.Refused, "has waited for 168h0m0s")
	}
}

// TestAReportThatCannotBeStoredFails: its time has a year that JSON does not know.
func TestAReportThatCannotBeStoredFails(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for _, r := range []shipping.Report{report("o-1", shipping.Delivered), report("none", shipping.Delivered)} {
		r.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

		if effect, err := o.Receive(t.Context(), r); err == nil || !strings.Contains(err.Error(), "year") {
			t.Errorf("%s: %q, %v", r.OrderID, effect, err)
		}
	}
	o.stored(reports.Waiting)
	o.stored(reports.Refused)
}
