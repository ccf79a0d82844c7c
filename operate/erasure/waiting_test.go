package erasure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAWaitingReportIsErasedWithItsOrder: while it waits it is listed with its order and counted, and the
// erasure does not pass it over. It stops waiting when the order can no longer take it, and is erased then.
func TestAWaitingReportIsErasedWithItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.place("o-1", workflow.Pay)
		a.place("o-2", workflow.Cancel)

		order, _, err := a.orders.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		desk := a.config.Reports
		early := shipping.Report{ID: "r-1", Shipment: order.EffectKey(2, shipping.Effect), OrderID: "o-1", Milestone: shipping.Delivered, Tracking: "ada-tracking"}

		if effect, err := desk.Receive(t.Context(), early); err != nil || effect != reports.Waiting {
			t.Fatal(effect, err)
		}

		found, complete, err := desk.OfOrder(t.Context(), "o-1")
		if err != nil || !complete || len(found) != 1 || found[0].ID != "r-1" {
			t.Errorf("listed %+v, %t, %v", found, complete, err)
		}

		if waiting, attention, err := desk.Count(t.Context()); err != nil || waiting != 1 || attention != 0 {
			t.Errorf("counted %d and %d, %v", waiting, attention, err)
		}

		r, err := a.orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Cancel, RequestID: "cancel"})
		if err != nil || !r.Verdict.Done() {
			t.Fatal(r.Verdict, err)
		}

		time.Sleep(time.Second) // an order that has just moved cannot be erased

		if _, err := a.eraser().Erase(t.Context(), "o-1"); !errors.Is(err, reports.ErrReportsWait) {
			t.Errorf("while a report waits: %v", err)
		}

		if _, err := a.eraser().Erase(t.Context(), "o-2"); err != nil {
			t.Errorf("another order: %v", err)
		}

		for tries := 0; ; tries++ {
			time.Sleep(12 * time.Hour)

			if err := desk.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}

			if waiting, _, err := desk.Count(t.Context()); err != nil || waiting == 0 {
				break
			}

			if tries > 30 {
				t.Fatal("it waits after two weeks")
			}
		}

		if done, err := a.eraser().Erase(t.Context(), "o-1"); err != nil || done.Reports == 0 && a.holds("ada-tracking") > 0 {
			t.Errorf("erased %+v, %v", done, err)
		}

		if n := a.holds("ada-tracking"); n > 0 {
			t.Errorf("%d rows have the tracking number", n)
		}
	})
}
