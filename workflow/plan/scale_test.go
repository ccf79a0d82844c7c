package plan_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"ratchet"
	"ratchet/internal/plural"
	"ratchet/workflow/plan"
)

// TestThePageOnScaleIsComputed: the table of rates in docs/operate/scale.md has the needs that `ratchet plan --rate` prints.
func TestThePageOnScaleIsComputed(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate/scale.md")
	if err != nil {
		t.Fatal(err)
	}

	wait := 48 * time.Hour
	// The units of an order, as the command has them.
	r := report(t, ratchet.StateMachine, plan.Load{
		Waits:      map[string]time.Duration{"AwaitShipped": wait, "AwaitDelivered": wait},
		WriteUnits: 43, ReadUnits: 12, TableUnits: 9, ItemUnits: 4,
	})

	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			rows[strings.TrimSpace(cells[1])] = cells[2:5]
		}
	}

	for column, rate := range []float64{10, 1000, 100_000} {
		d, err := r.Demand(rate)
		if err != nil {
			t.Fatal(err)
		}

		want := map[string]string{
			"partitions and open shards":          thousands(float64(d.Partitions)),
			"items for one SKU":                   thousands(float64(d.SharedItems)),
			"dollars per day, without processors": thousands(d.DollarsPerDay),
		}

		names := map[string]string{
			plan.OpenExecutions: "open executions, of 1,000,000", plan.SendTaskSuccess: "SendTaskSuccess, of 500", plan.GetActivityTask: "GetActivityTask, of 500",
			plan.StartExecution: "StartExecution, of 300", "StateTransition": "state transitions, of 5,000", plan.TableWrites: "writes of a table, of 40,000",
		}
		for _, n := range d.Needs {
			want[names[n.Quota]] = ""
			// Only what has to be raised is in the table.
			if times := n.Needed / n.Allowed; times > 1 {
				want[names[n.Quota]] = shortNumber(times) + " times"
			}
		}

		for row, text := range want {
			if cells := rows[row]; cells == nil || !strings.HasPrefix(strings.TrimSpace(cells[column]), text) || (text == "" && strings.TrimSpace(cells[column]) != "") {
				t.Errorf("%s at %v orders a second: the page has %q, want %q", row, rate, cells, text)
			}
		}
	}
}

// shortNumber is a number as the page has it: one digit after the point below 100, and without a zero there.
func shortNumber(n float64) string {
	if n >= 100 {
		return thousands(n)
	}

	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}

func thousands(n float64) string { return plural.Thousands(int64(math.Round(n))) }
