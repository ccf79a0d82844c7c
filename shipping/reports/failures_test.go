package reports_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// TestNoFailureIsTakenForAnAnswer fails each call in turn that something makes: it returns an error,
// and does the same as ever when it is done again.
func TestNoFailureIsTakenForAnAnswer(t *testing.T) {
	known := map[string]shipping.Shipment{"o-1/2/shipping": {Status: shipping.Shipped}}
	receive := func(r shipping.Report, want reports.Effect) func(context.Context, *office) error {
		return func(ctx context.Context, o *office) error {
			effect, err := o.Receive(ctx, r)
			if err == nil && effect != want {
				o.t.Errorf("%s: %s, want %s", r.ID, effect, want)
			}

			return err
		}
	}

	for name, test := range map[string]struct {
		asked  bool
		before func(*office)
		do     func(context.Context, *office) error
	}{
		"a lost parcel is recorded": {before: func(o *office) { o.order("o-1", workflow.Pay) }, do: receive(report("o-1", shipping.Lost), reports.Applied)},
		"a lost parcel is looked up": {
			before: func(o *office) { o.receive(report("o-1", shipping.Lost), reports.Applied) },
			do: func(ctx context.Context, o *office) error {
				_, found, err := o.Lost(ctx, "o-1")
				if err == nil && !found {
					o.t.Error("there is no lost parcel")
				}

				return err
			},
		},
		"an order is settled": {
			before: func(o *office) {
				o.order("o-1", workflow.Pay)
				o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
				o.receive(parcel("o-1", "a", shipping.Delivered, 0), reports.Applied)
				o.move("o-1", workflow.Ship)
			},
			do: func(ctx context.Context, o *office) error { return o.Settle(ctx, "o-1") },
		},
		"a parcel leaves": {
			before: func(o *office) { o.order("o-1", workflow.Pay) },
			do:     receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied),
		},
		"the last parcel arrives": {
			before: func(o *office) { o.order("o-1", workflow.Pay); o.sent("o-1", "a") },
			do:     receive(parcel("o-1", "b", shipping.Delivered, 0), reports.Applied),
		},
		"a report that was applied is repeated, and the carrier is down": {
			asked: true,
			before: func(o *office) {
				o.order("o-1", workflow.Pay)
				o.receive(report("o-1", shipping.Shipped), reports.Applied)
				o.says(errors.New("maintenance"))
			},
			do: receive(report("o-1", shipping.Shipped), reports.Applied),
		},
		"a report is noted": {
			asked:  true,
			before: func(o *office) { o.order("o-1", workflow.Pay) },
			do:     receive(report("o-1", shipping.Booked), reports.Applied),
		},
		"a report waits":      {before: func(o *office) { o.order("o-1", workflow.Pay) }, do: receive(report("o-1", shipping.Delivered), reports.Waiting)},
		"a report is refused": {do: receive(report("none", shipping.Delivered), reports.Refused)},
		"a report is looked up": {before: func(o *office) { comesBack(o) }, do: func(ctx context.Context, o *office) error {
			_, err := o.Find(ctx, parcel("o-1", "a", shipping.Returned, 0).ID)
			return err
		}},
		"a report that was ended is repeated": {
			before: func(o *office) {
				if _, err := o.MarkDone(o.t.Context(), o.find(comesBack(o).ID), ada); err != nil {
					o.t.Fatal(err)
				}
			},
			do: receive(parcel("o-1", "a", shipping.Returned, 0), reports.Done),
		},
	} {
		for call, struck := 1, true; struck; call++ {
			o := newOffice(t, nil)
			if test.asked {
				o = newOffice(t, known)
			}

			if test.before != nil {
				test.before(o)
			}

			injected := o.wire.Inject(embeddedtest.Answer("AccessDeniedException").From(call).Next(1))
			err := test.do(t.Context(), o)
			struck = injected.Strikes() > 0
			injected.Remove()

			if struck != (err != nil) {
				t.Errorf("%s: call %d fails: %t, and it returns %v", name, call, struck, err)
			}

			if err := test.do(t.Context(), o); err != nil {
				t.Errorf("%s: again, after call %d: %v", name, call, err)
			}
		}
	}
}

// TestALostParcelIsLoggedOnce, when it is recorded.
func TestALostParcelIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer

	o := newOffice(t, nil, func(c *reports.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 2 {
		o.receive(report("o-1", shipping.Lost), reports.Applied)
	}

	if n := bytes.Count(log.Bytes(), []byte("has lost a parcel")); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}
