package workflow_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/workflow"
)

func TestChargeFollowsTheMoney(t *testing.T) {
	rows := []struct {
		name                      string
		total, captured, refunded int64
		want                      workflow.Charge
	}{
		{"nothing taken", 100, 0, 0, workflow.ChargeNone},
		{"a part taken", 100, 40, 0, workflow.ChargePartial},
		{"all taken", 100, 100, 0, workflow.ChargeFull},
		{"too much taken", 100, 101, 0, workflow.ChargeOver},
		{"a part given back", 100, 100, 1, workflow.ChargePartiallyRefunded},
		{"all given back of a part", 100, 40, 40, workflow.ChargeRefunded},
		{"an order that costs nothing", 0, 0, 0, workflow.ChargeFull},
	}
	for _, row := range rows {
		if got, err := workflow.ChargeStatus(row.total, row.captured, row.refunded); got != row.want || err != nil {
			t.Errorf("%s: got %q, error %v, want %q", row.name, got, err, row.want)
		}
	}

	for _, bad := range [][3]int64{{-1, 0, 0}, {1, -1, 0}, {1, 1, -1}, {100, 40, 41}} {
		if got, err := workflow.ChargeStatus(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%v: got %q, want an error", bad, got)
		}
	}
}

func TestProgressFollowsTheQuantities(t *testing.T) {
	rows := []struct {
		name  string
		lines []workflow.Line
		want  workflow.OrderProgress
		event workflow.Event
	}{
		{"nothing has left", []workflow.Line{{Ordered: 2}}, workflow.OrderProgress{Shipped: "none", Delivered: "none", Returned: "none"}, ""},
		{"one of two lines has left", []workflow.Line{{Ordered: 2, Shipped: 2}, {Ordered: 1}}, workflow.OrderProgress{Shipped: "partial", Delivered: "none", Returned: "none"}, workflow.ShipPart},
		{"all has left, some arrived", []workflow.Line{{Ordered: 2, Shipped: 2, Delivered: 1}}, workflow.OrderProgress{Shipped: "all", Delivered: "partial", Returned: "none"}, workflow.Ship},
		{"all that arrived came back", []workflow.Line{{Ordered: 2, Shipped: 2, Delivered: 1, Returned: 1}}, workflow.OrderProgress{Shipped: "all", Delivered: "partial", Returned: "all"}, workflow.Ship},
		{"an order without lines", nil, workflow.OrderProgress{Shipped: "none", Delivered: "none", Returned: "none"}, ""},
	}
	for _, row := range rows {
		got, err := workflow.ShipmentProgress(row.lines)
		if err != nil || got != row.want || got.ShippedEvent() != row.event {
			t.Errorf("%s: got %+v %q, error %v, want %+v %q", row.name, got, got.ShippedEvent(), err, row.want, row.event)
		}
	}

	if _, err := workflow.ShipmentProgress([]workflow.Line{{Ordered: 1}, {Ordered: 1, Shipped: 2}}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("more shipped than ordered: %v", err)
	}
}

// TestProgressDoesNotDependOnTheOrderOfParcels ships pieces in any order.
func TestProgressDoesNotDependOnTheOrderOfParcels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := make([]workflow.Line, rapid.IntRange(1, 4).Draw(t, "lines"))
		for i := range lines {
			lines[i].Ordered = rapid.Int64Range(1, 5).Draw(t, "ordered")
			lines[i].Shipped = rapid.Int64Range(0, lines[i].Ordered).Draw(t, "shipped")
		}

		a, err := workflow.ShipmentProgress(lines)
		b, err2 := workflow.ShipmentProgress(rapid.Permutation(lines).Draw(t, "again"))
		if err := errors.Join(err, err2); err != nil || a != b {
			t.Fatalf("%+v and %+v, error %v", a, b, err)
		}
	})
}

func TestThePaymentEndsWhereMoneyIsSettled(t *testing.T) {
	d := workflow.Payment()
	if d.Reachable("CAPTURED", "VOIDED") {
		t.Error("a captured payment can be voided")
	}

	if _, ok := d.Next("REFUND_PENDING", "refund"); ok {
		t.Error("Next answers although guards choose between targets")
	}

	if s := workflow.Shipment(); s.Reachable("SHIPPED", "CANCELLED") || !s.Reachable("ON_HOLD", "DELIVERED") {
		t.Error("a shipped parcel is returned, not cancelled; a held one can still be delivered")
	}
}

func TestDrawingsCarryCounts(t *testing.T) {
	counts := map[workflow.State]int{workflow.Shipped: 1234567}
	for format, want := range map[string]string{"mermaid": `state "SHIPPED (1,234,567)" as SHIPPED`, "dot": `label="SHIPPED\n1,234,567"`, "table": "SHIPPED            1,234,567", "svg": ">1,234,567<"} {
		text, err := workflow.Order().RenderWith(format, counts)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: error %v, lacks %q:\n%s", format, err, want, text)
		}
	}

	for format, counts := range map[string]map[workflow.State]int{"yaml": counts, "table": {"LOST": 1}} {
		if _, err := workflow.Order().RenderWith(format, counts); err == nil {
			t.Errorf("%s with %v: no error", format, counts)
		}
	}
}

func TestTheSVGIsWellFormedAndShowsEveryStateAndEvent(t *testing.T) {
	for _, d := range []*workflow.Definition{workflow.Order(), workflow.Payment(), workflow.Shipment()} {
		text, err := d.Render("svg")
		if err != nil {
			t.Fatal(err)
		}

		for dec := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}

		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Error("a coordinate is not a number")
		}

		for _, s := range d.States() {
			if !strings.Contains(text, ">"+string(s.State)+"</text>") {
				t.Errorf("%s: state %s is not drawn", d.Name(), s.State)
			}
		}

		for _, e := range d.Events() {
			if !strings.Contains(text, ">"+string(e)) {
				t.Errorf("%s: event %s is not drawn", d.Name(), e)
			}
		}
	}
}

func version(t *testing.T, n int, ends ...workflow.State) *workflow.Definition {
	t.Helper()
	s := twoStates()

	s.Version = n
	s.States = s.States[:1]
	s.Transitions = nil
	for _, end := range ends {
		s.States = append(s.States, workflow.StateSpec{State: end, Terminal: true})
		s.Transitions = append(s.Transitions, workflow.Transition{Event: workflow.Event("to_" + end), From: []workflow.State{"A"}, To: end})
	}

	d, err := workflow.New(s)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestAMigrationPlanCountsWhatHasNoMapping(t *testing.T) {
	m, err := workflow.NewMigrations([]*workflow.Definition{version(t, 1, "B", "OLD", "GONE"), version(t, 2, "B", "NEW"), version(t, 3, "B", "NEWER")},
		[]workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"OLD": "NEW"}}, {From: 2, To: 3, States: map[workflow.State]workflow.State{"NEW": "NEWER", "B": "A"}}})
	if err != nil {
		t.Fatal(err)
	}

	plan, err := m.Plan(3, map[int]map[workflow.State]int{0: {"A": 2, "OLD": 1}, 1: {"A": 5, "OLD": 2, "GONE": 7, "B": 0}, 2: {"B": 1, "LOST": 3}, 9: {"A": 4}, 3: {"A": 1}})
	if err != nil {
		t.Fatal(err)
	}

	want := workflow.MigrationPlan{To: 3, Orders: 26, Outdated: 8, Unmapped: 15, Rows: []workflow.MigrationRow{
		{Version: 0, State: "OLD", Orders: 1, Problem: `version 3 has no state "OLD"`},
		{Version: 1, State: "GONE", Orders: 7, Problem: "version 2 has no state GONE, and the migration from version 1 does not say what becomes of it"},
		{Version: 2, State: "LOST", Orders: 3, Problem: `version 2 has no state "LOST"`},
		{Version: 9, State: "A", Orders: 4, Problem: "version 9 is not known"},
		{Version: 0, State: "A", Orders: 2, To: "A"},
		{Version: 1, State: "A", Orders: 5, To: "A"},
		{Version: 1, State: "OLD", Orders: 2, To: "NEWER"},
		{Version: 2, State: "B", Orders: 1, To: "A", Reopens: true},
		{Version: 3, State: "A", Orders: 1, To: "A"},
	}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if text := plan.Text(); !strings.Contains(text, "26 orders: 8 to be migrated to version 3, 15 without a mapping") || !strings.Contains(text, "an end that is open again") {
		t.Error(text)
	}
}

func TestBadMigrationsAreRefused(t *testing.T) {
	defs := []*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}
	rows := []struct {
		name string
		m    []workflow.Migration
		want string
	}{
		{"from an unknown version", []workflow.Migration{{From: 7, To: 2}}, "version 7 is not known"},
		{"to an unknown version", []workflow.Migration{{From: 1, To: 7}}, "version 7 is not known"},
		{"to itself", []workflow.Migration{{From: 1, To: 1}}, "needs no way"},
		{"twice", []workflow.Migration{{From: 1, To: 2}, {From: 1, To: 2}}, "there are two"},
		{"an unknown source", []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"X": "B"}}}, "no state X"},
		{"an unknown target", []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"B": "X"}}}, `B becomes "X"`},
	}
	for _, row := range rows {
		if _, err := workflow.NewMigrations(defs, row.m); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %q", row.name, err, row.want)
		}
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{defs[0], defs[0]}, nil); err == nil {
		t.Error("the same version twice")
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{defs[0], workflow.Payment()}, nil); err == nil {
		t.Error("two different workflows")
	}
}
