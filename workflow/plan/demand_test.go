package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"ratchet/workflow/plan"
)

// TestADemandFollowsTheLimits: what a rate needs of each quota is what one order uses, by the rate; the shared item and the
// partitions are numbers of items and partitions.
func TestADemandFollowsTheLimits(t *testing.T) {
	r := report(t, fourStates, plan.Load{
		Waits: map[string]time.Duration{"AwaitShipped": time.Hour}, WriteUnits: 40, ReadUnits: 10, TableUnits: 9, ItemUnits: 4,
	})

	d, err := r.Demand(1000)
	if err != nil {
		t.Fatal(err)
	}

	if d.Partitions != 9 || d.SharedItems != 4 {
		t.Errorf("%d partitions, %d items; want 9, 4", d.Partitions, d.SharedItems)
	}

	if perOrder := r.DollarsStepFunctions + r.DollarsDynamoDB; math.Abs(d.DollarsPerDay-86_400_000*perOrder) > 0.01 {
		t.Errorf("$%v a day for $%v an order", d.DollarsPerDay, perOrder)
	}

	limits := map[string]plan.Limit{}
	for _, l := range r.Limits {
		limits[l.Quota] = l
	}

	if len(d.Needs) != len(limits)-1 {
		t.Errorf("%d needs for %d limits, of which one is that of an item", len(d.Needs), len(limits))
	}

	times := math.Inf(1)
	for _, n := range d.Needs {
		if want := limits[n.Quota].Used * 1000; n.Needed != want {
			t.Errorf("%s: %v, want %v", n.Quota, n.Needed, want)
		}

		// The rate at which a quota binds is where its need is what is allowed.
		if got, want := n.Needed/n.Allowed, 1000/limits[n.Quota].OrdersPerSecond; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v times, want %v", n.Quota, got, want)
		}

		if n.Needed/n.Allowed > times {
			t.Errorf("%s is not in its place", n.Quota)
		}
		times = n.Needed / n.Allowed
	}

	var text strings.Builder
	if err := d.Print(&text); err != nil || !strings.Contains(text.String(), "among 4 items") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestADemandIsANumber(t *testing.T) {
	r := report(t, fourStates, plan.Load{})

	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := r.Demand(rate); err == nil {
			t.Errorf("%v was taken", rate)
		}
	}
}
