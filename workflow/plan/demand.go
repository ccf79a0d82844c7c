package plan

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// partitionWrites is how many write units a second one partition of a table takes. Each partition has an open shard in the
// table's stream. Source:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const partitionWrites = 1000

// Demand is what a number of orders a second needs.
type Demand struct {
	OrdersPerSecond float64 `json:"ordersPerSecond"`
	// Needs are sorted: the quota that has to be raised most comes first.
	Needs []Need `json:"needs"`
	// Partitions is how many partitions the busiest table needs at least, and how many open shards its stream then has.
	Partitions int64 `json:"partitions"`
	// SharedItems is how many items must share the writes of the item that all orders share. 0 if there is none.
	SharedItems int64 `json:"sharedItems,omitempty"`
	// DollarsPerDay is the price of these orders, without that of processors.
	DollarsPerDay float64 `json:"dollarsPerDay"`
}

// Need is what the orders need of a quota.
type Need struct {
	Quota   string  `json:"quota"`
	Allowed float64 `json:"allowed"`
	Needed  float64 `json:"needed"`
}

// Demand returns what so many orders a second need. It fails if the number is not more than 0.
func (r Report) Demand(ordersPerSecond float64) (Demand, error) {
	// Written so that NaN fails, too.
	if !(ordersPerSecond > 0) || math.IsInf(ordersPerSecond, 0) {
		return Demand{}, fmt.Errorf("orders a second %v: must be a number of more than 0", ordersPerSecond)
	}

	d := Demand{OrdersPerSecond: ordersPerSecond, DollarsPerDay: (r.DollarsStepFunctions + r.DollarsDynamoDB) * ordersPerSecond * 86400}
	for _, l := range r.Limits {
		needed := l.Used * ordersPerSecond

		switch l.Quota {
		case itemWrites:
			// No request raises it.
			d.SharedItems = int64(math.Ceil(needed / l.Allowed))
			continue
		case TableWrites:
			d.Partitions = int64(math.Ceil(needed / partitionWrites))
		}
		d.Needs = append(d.Needs, Need{l.Quota, l.Allowed, needed})
	}

	slices.SortFunc(d.Needs, func(a, b Need) int {
		return cmp.Or(cmp.Compare(b.Needed/b.Allowed, a.Needed/a.Allowed), cmp.Compare(a.Quota, b.Quota))
	})

	return d, nil
}

// Print writes the demand for a terminal.
func (d Demand) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%g ORDERS A SECOND NEED\tALLOWED\tNEEDED\tTIMES\n", d.OrdersPerSecond)

	for _, n := range d.Needs {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.3g\n", n.Quota, n.Allowed, n.Needed, n.Needed/n.Allowed)
	}

	if err := w.Flush(); err != nil {
		return err
	}

	fmt.Fprintf(out, "\nThe busiest table needs %d partitions at least; its stream then has as many open shards.\n", d.Partitions)

	if d.SharedItems > 1 {
		fmt.Fprintf(out, "No request raises ItemWrites: divide what all orders write, such as a SKU, among %d items.\n", d.SharedItems)
	}
	_, err := fmt.Fprintf(out, "A day costs $%.0f, without processors.\n", d.DollarsPerDay)

	return err
}
