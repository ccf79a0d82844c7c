package reports_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestNoFailureIsTakenForAnAnswer fails each call in turn that something makes: it returns an error,
// and does the same as ever when it is done again.
func TestNoFailureIsTakenForAnAnswer(t *testing.T) {
	known := map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {Status: shipping.Shipped}}
	receive := func(r shipping.Report, want reports.Effect) func(context.Context, *office) error {
		return func(ctx context.Context, o *office) error {
			effect, err := o.Receive(ctx, r)
			if err == nil && effect != want {
				o.t.Errorf("%s: %s, want %s", r.ID, effect, want)
			}

			return err
		}
	}

	var ended reports.Stored // as it was read before it was ended

	for name, test := range map[string]struct {
		asked  bool
		before func(*office)
		do     func(context.Context, *office) error
	}{
		"a lost parcel is recorded": {before: func(o *office) { o.order("o-1", workflow.Pay) }, do: receive(report("o-1", shipping.Lost), reports.Applied)},
		"a lost parcel is looked up": {
			before: func(o *office) {
				o.order("o-1", workflow.Pay)
				o.receive(report("o-1", shipping.Lost), reports.Applied)
			},
			do: func(ctx context.Context, o *office) error {
				_, found, err := o.Lost(ctx, &transitions.Order{ID: "o-1", Incarnation: life})
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
			do: func(ctx context.Context, o *office) error { return o.ApplyParcels(ctx, "o-1") },
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
			_, err := o.Find(ctx, "o-1/"+parcel("o-1", "a", shipping.Returned, 0).ID)
			return err
		}},
		"a report that was ended is repeated": {
			before: func(o *office) {
				if _, err := o.MarkDone(o.t.Context(), o.find(comesBack(o)), ada); err != nil {
					o.t.Fatal(err)
				}
			},
			do: receive(parcel("o-1", "a", shipping.Returned, 0), reports.Done),
		},
		"a report is ended": {before: func(o *office) { comesBack(o) }, do: func(ctx context.Context, o *office) error {
			s, err := o.Find(ctx, "o-1/"+parcel("o-1", "a", shipping.Returned, 0).ID)
			if err == nil {
				_, err = o.MarkDone(ctx, s, ada)
			}

			return err
		}},
		"a report is ended that another person has ended": {
			before: func(o *office) {
				ended = o.find(comesBack(o))
				if _, err := o.MarkDone(o.t.Context(), ended, ada); err != nil {
					o.t.Fatal(err)
				}
			},
			do: func(ctx context.Context, o *office) error { _, err := o.MarkDone(ctx, ended, ada); return err },
		},
		"a person is erased": {
			before: func(o *office) {
				if _, err := o.MarkDone(o.t.Context(), o.find(comesBack(o)), ada); err != nil {
					o.t.Fatal(err)
				}
				r := report("o-1", shipping.Lost)
				o.receive(r, reports.Applied)
				r = sameID("o-1", shipping.Shipped)
				r.Parcel, r.Lines = "a", []shipping.Line{{SKU: "cup", Quantity: 1}}
				o.receive(r, reports.Refused)
			},
			do: func(ctx context.Context, o *office) error { _, err := o.Erase(ctx, "o-1"); return err },
		},
		"reports are listed": {do: func(ctx context.Context, o *office) error {
			_, _, waiting := o.List(ctx, reports.Waiting, "", 10)
			_, _, refused := o.List(ctx, reports.Refused, "", 10)

			return errors.Join(waiting, refused)
		}},
		"a waiting report is tried again": {
			before: func(o *office) {
				o.order("o-1", workflow.Pay)
				o.receive(report("o-1", shipping.Delivered), reports.Waiting)
				o.clock.Advance(time.Hour)
			},
			do: func(ctx context.Context, o *office) error { return o.Sweep(ctx) },
		},
		"a person can be erased": {do: func(ctx context.Context, o *office) error { return o.CanErase(ctx, "o-1") }},
		"the last parcel comes back, and the others were delivered": {
			before: func(o *office) { o.order("o-1", workflow.Pay); o.sent("o-1", "b") },
			do:     receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention),
		},
		"all parcels have come back, and the order is settled": {
			before: func(o *office) {
				comesBack(o)
				o.receive(parcel("o-1", "b", shipping.Returned, 0), reports.Attention)
			},
			do: func(ctx context.Context, o *office) error { return o.ApplyParcels(ctx, "o-1") },
		},
		"a parcel comes back of an order that is paid in part": {
			before: func(o *office) {
				o.order("o-1", workflow.Pay)

				if _, err := o.payments.Charge(o.t.Context(), o.payment("o-1", 250)); err != nil {
					o.t.Fatal(err)
				}
				o.sent("o-1")
			},
			do: receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention),
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
	o.order("o-1", workflow.Pay)

	for range 2 {
		o.receive(report("o-1", shipping.Lost), reports.Applied)
	}

	if n := bytes.Count(log.Bytes(), []byte("has lost a parcel")); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestAnEndingIsLogged, with who has dealt with the report.
func TestAnEndingIsLogged(t *testing.T) {
	var log bytes.Buffer

	o := newOffice(t, nil, func(c *reports.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s := o.find(comesBack(o))
	log.Reset()

	for range 2 {
		if _, err := o.MarkDone(t.Context(), s, ada); err != nil {
			t.Error(err)
		}
	}

	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "actor=cli:ada") || !strings.Contains(text, "order=o-1") {
		t.Errorf("logged %s", text)
	}
}

// TestLinesThatCannotBeReadAreNoLines of a parcel: its report fails. They do not count as unknown.
func TestLinesThatCannotBeReadAreNoLines(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1")

	update := dynamo.NewUpdate("reports", dynamo.Item{"pk": dynamo.S("parcels#o-1"), "sk": dynamo.S(string(life) + "/lines/a")}).SetValue("lines", dynamo.S("{"))
	if _, err := o.db.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	if effect, err := o.Receive(t.Context(), parcel("o-1", "a", shipping.Returned, 0)); err == nil || !strings.Contains(err.Error(), "lines of parcel a cannot be read") {
		t.Errorf("%q, %v", effect, err)
	}
	o.refunded("o-1", workflow.Shipped, 0)
}

// TestAnUnknownOrderIsNotSettled: an order without parcels is not settled either.
func TestAnUnknownOrderIsNotSettled(t *testing.T) {
	o := newOffice(t, nil)
	settle(o)
	o.order("o-1", workflow.Pay, workflow.Ship)
	settle(o)

	if got := o.state("o-1"); got != workflow.Shipped {
		t.Errorf("the order is %s", got)
	}
}
