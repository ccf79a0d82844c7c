package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/workflow"
)

func TestShippedParcelsAreNotCanceled(t *testing.T) {
	d := workflow.Shipment()
	if d.Reachable("SHIPPED", "CANCELLED") {
		t.Error("a shipped parcel can be canceled; it must be returned")
	}

	if !d.Reachable("ON_HOLD", "DELIVERED") {
		t.Error("a parcel on hold can never be delivered")
	}
}

func TestShippedEventFollowsTheQuantities(t *testing.T) {
	rows := []struct {
		name  string
		lines []workflow.Line
		want  workflow.Event
	}{
		{name: "nothing has left", lines: []workflow.Line{{Ordered: 2}}, want: ""},
		{name: "some pieces of a line have left", lines: []workflow.Line{{Ordered: 2, Shipped: 1}}, want: workflow.ShipPart},
		{name: "one of two lines has left", lines: []workflow.Line{{Ordered: 2, Shipped: 2}, {Ordered: 1}}, want: workflow.ShipPart},
		{name: "all has left", lines: []workflow.Line{{Ordered: 2, Shipped: 2}, {Ordered: 1, Shipped: 1}}, want: workflow.Ship},
		{name: "more pieces than a number holds", lines: []workflow.Line{{Ordered: 1 << 62, Shipped: 1 << 62}, {Ordered: 1 << 62}}, want: workflow.ShipPart},
		{name: "an order without lines", lines: nil, want: ""},
		{name: "an order whose pieces were all canceled", lines: []workflow.Line{{Ordered: 0}}, want: ""},
	}
	for _, row := range rows {
		got, err := workflow.Order().Shipping().Event(row.lines)
		if err != nil || got != row.want {
			t.Errorf("%s: got %q, error %v, want %q", row.name, got, err, row.want)
		}
	}
}

func TestShippedEventRefusesImpossibleLines(t *testing.T) {
	rows := []struct {
		name string
		line workflow.Line
	}{
		{name: "more shipped than ordered", line: workflow.Line{Ordered: 1, Shipped: 2}},
		{name: "fewer than 0 shipped", line: workflow.Line{Ordered: 1, Shipped: -1}},
	}
	for _, row := range rows {
		_, err := workflow.Order().Shipping().Event([]workflow.Line{{Ordered: 1}, row.line})
		if err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: got error %v, want one about line 1", row.name, err)
		}
	}
}

// TestShippedEventDoesNotDependOnTheOrderOfLines ships pieces in any order.
func TestShippedEventDoesNotDependOnTheOrderOfLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := make([]workflow.Line, rapid.IntRange(1, 4).Draw(t, "lines"))
		for i := range lines {
			lines[i].Ordered = rapid.Int64Range(1, 5).Draw(t, "ordered")
			lines[i].Shipped = rapid.Int64Range(0, lines[i].Ordered).Draw(t, "shipped")
		}

		first, err := workflow.Order().Shipping().Event(lines)
		again, err2 := workflow.Order().Shipping().Event(rapid.Permutation(lines).Draw(t, "permutation"))
		if err := errors.Join(err, err2); err != nil || first != again {
			t.Fatalf("%q and %q, error %v", first, again, err)
		}
	})
}
