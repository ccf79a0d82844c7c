package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ratchet/workflow"
)

func TestShippedEventFollowsTheQuantities(t *testing.T) {
	rows := []struct {
		name  string
		lines []workflow.Line
		want  workflow.Event
	}{
		{"nothing has left", []workflow.Line{{Ordered: 2}}, ""},
		{"some pieces of a line have left", []workflow.Line{{Ordered: 2, Shipped: 1}}, workflow.ShipPart},
		{"one of two lines has left", []workflow.Line{{Ordered: 2, Shipped: 2}, {Ordered: 1}}, workflow.ShipPart},
		{"all has left", []workflow.Line{{Ordered: 2, Shipped: 2}, {Ordered: 1, Shipped: 1}}, workflow.Ship},
		{"an order without lines", nil, ""},
		{"an order whose pieces were all canceled", []workflow.Line{{Ordered: 0}}, ""},
	}
	for _, row := range rows {
		got, err := workflow.ShippedEvent(row.lines)
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
		{"more shipped than ordered", workflow.Line{Ordered: 1, Shipped: 2}},
		{"fewer than 0 shipped", workflow.Line{Ordered: 1, Shipped: -1}},
	}
	for _, row := range rows {
		_, err := workflow.ShippedEvent([]workflow.Line{{Ordered: 1}, row.line})
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

		first, err := workflow.ShippedEvent(lines)
		again, err2 := workflow.ShippedEvent(rapid.Permutation(lines).Draw(t, "permutation"))
		if err := errors.Join(err, err2); err != nil || first != again {
			t.Fatalf("%q and %q, error %v", first, again, err)
		}
	})
}
