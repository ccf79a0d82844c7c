package diagram_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow"
	"ratchet/workflow/diagram"
)

func TestRenderShowsEveryMove(t *testing.T) {
	for format, want := range map[string]string{
		"mermaid": "PENDING --> PAYMENT_RECEIVED : pay",
		"dot":     `"PENDING" -> "PAYMENT_RECEIVED" [label="pay"]`,
		"table":   "PAYMENT_RECEIVED",
	} {
		text, err := diagram.Render(workflow.Order(), format, nil)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("Render %s: error %v, text lacks %q:\n%s", format, err, want, text)
		}
	}

	if _, err := diagram.Render(workflow.Order(), "png", nil); err == nil || !strings.Contains(err.Error(), "mermaid, dot, table") {
		t.Errorf("an unknown format names the known ones, got %v", err)
	}
}

func TestRenderShowsCounts(t *testing.T) {
	counts := map[workflow.State]int{workflow.Shipped: 1234567}
	for format, want := range map[string]string{"mermaid": `state "SHIPPED (1,234,567)" as SHIPPED`, "dot": `label="SHIPPED\n1,234,567"`, "table": "SHIPPED            1,234,567", "svg": ">1,234,567<"} {
		text, err := diagram.Render(workflow.Order(), format, counts)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: error %v, lacks %q:\n%s", format, err, want, text)
		}
	}

	for format, counts := range map[string]map[workflow.State]int{"yaml": counts, "table": {"LOST": 1}} {
		if _, err := diagram.Render(workflow.Order(), format, counts); err == nil {
			t.Errorf("%s with %v: no error", format, counts)
		}
	}
}

func TestSVGIsWellFormedAndShowsEveryStateAndEvent(t *testing.T) {
	for _, d := range []*workflow.Definition{workflow.Order(), workflow.Payment(), workflow.Shipment()} {
		text, err := diagram.Render(d, "svg", nil)
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

func TestMigrationPlanShowsWhatBecomesOfTheOrders(t *testing.T) {
	plan := workflow.MigrationPlan{To: 3, Orders: 1026, Outdated: 8, Unmapped: 15, Rows: []workflow.MigrationRow{
		{Version: 1, State: "GONE", Orders: 15, Problem: "version 2 has no state GONE"},
		{Version: 1, State: "OLD", Orders: 2, To: "NEWER"},
		{Version: 2, State: "B", Orders: 1, To: "A", Reopens: true},
		{Version: 2, State: "A", Orders: 5, To: "B", Ends: true},
		{Version: 3, State: "A", Orders: 1003, To: "A"},
	}}

	want := `version 1  GONE                        15 orders  no mapping: version 2 has no state GONE
version 1  OLD                          2 orders  -> NEWER
version 2  B                            1 order   -> A (an end that is open again)
version 2  A                            5 orders  -> B (which is an end)
version 3  A                        1,003 orders  -> A
1,026 orders: 8 to be migrated to version 3, 15 without a mapping
`
	if diff := cmp.Diff(want, diagram.MigrationPlan(plan)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheTimeOfATransitionIsDrawn in each format, before its guards.
func TestTheTimeOfATransitionIsDrawn(t *testing.T) {
	d, err := workflow.New(workflow.Spec{
		Name: "plan", Version: 1, Place: "start", Initial: "TRIAL",
		States: []workflow.StateSpec{{State: "TRIAL"}, {State: "ENDED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "remind", From: []workflow.State{"TRIAL"}, To: "TRIAL", After: &workflow.After{Attribute: "metadata.endsAt", Delay: -72 * time.Hour},
				Guards: []workflow.Guard{{Name: "card", Attribute: "metadata.card", Op: "missing"}}},
			{Event: "end", From: []workflow.State{"TRIAL"}, To: "ENDED", After: &workflow.After{Delay: 14 * 24 * time.Hour}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	for format, want := range map[string][]string{
		"mermaid": {"TRIAL --> TRIAL : remind after metadata.endsAt - 3d [card]", "TRIAL --> ENDED : end after 14d"},
		"dot":     {`[label="remind after metadata.endsAt - 3d [card]"]`, `[label="end after 14d"]`},
		"table":   {"remind after metadata.endsAt - 3d [card]", "end after 14d"},
		"svg":     {"remind after metadata.endsAt - 3d [card]", "end after 14d"},
	} {
		text, err := diagram.Render(d, format, nil)
		if err != nil {
			t.Fatal(err)
		}

		for _, label := range want {
			if !strings.Contains(text, label) {
				t.Errorf("%s lacks %q:\n%s", format, label, text)
			}
		}
	}
}
