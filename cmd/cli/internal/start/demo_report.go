package start

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/transitions"
)

// demoResult is the result of a demo as --json prints it.
type demoResult struct {
	Orders          int                    `json:"orders"`
	ByState         map[string]int         `json:"byState"`
	Verdicts        map[string]int64       `json:"verdicts"`
	Duplicates      int64                  `json:"duplicates"`
	Transitions     int                    `json:"transitions"`
	Shipments       int                    `json:"shipments"`
	Notifications   int                    `json:"notifications"`
	Seconds         float64                `json:"seconds"`
	OrdersPerSecond float64                `json:"ordersPerSecond"`
	ReactionMillis  map[string]float64     `json:"reactionMillis"`
	Discrepancies   []scenario.Discrepancy `json:"discrepancies"`
	// Consumed is the capacity units of creations and transitions, by verdict. PerOrder is
	// the mean of an order, AtMost the maximum.
	Consumed map[string]server.Units `json:"consumed"`
	PerOrder server.Units            `json:"consumedPerOrder"`
	AtMost   server.Units            `json:"consumedPerOrderAtMost"`
}

func demoReport(s *scenario.Session, c scenario.Count, consumed *server.Consumption) demoResult {
	r := demoResult{
		Orders:          s.Plan.Orders,
		ByState:         c.ByState,
		Verdicts:        map[string]int64{},
		Duplicates:      s.Sent.Repeated.Load() + s.Sent.CancelsRepeated.Load() + s.Sent.ReportsRepeated.Load(),
		Transitions:     c.Transitions,
		Shipments:       c.Shipments,
		Notifications:   c.Notices,
		Seconds:         s.Took.Seconds(),
		OrdersPerSecond: float64(s.Plan.Orders) / s.Took.Seconds(),
		ReactionMillis: map[string]float64{
			"p50": millis(s.Meter.Latency(0.5)),
			"p99": millis(s.Meter.Latency(0.99)),
		},
		Discrepancies: append([]scenario.Discrepancy{}, c.Discrepancies...), // [] instead of null
	}
	for _, v := range transitions.Verdicts() {
		r.Verdicts[v.String()] = s.Meter.Verdicts(v)
	}

	r.Consumed = consumed.ByVerdict()
	var orders int
	r.AtMost, orders = consumed.Most()
	for _, sum := range r.Consumed {
		r.PerOrder.Calls += sum.Calls
		// The units of all verdicts together, as a share of each order.
		r.PerOrder.Read += sum.Read / float64(max(1, orders))
		r.PerOrder.Write += sum.Write / float64(max(1, orders))
	}
	r.PerOrder.Calls /= int64(max(1, orders))

	return r
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// demoTable prints the result for a person.
func demoTable(out io.Writer, s *scenario.Session, c scenario.Count, consumed *server.Consumption) error {
	r := demoReport(s, c, consumed)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	states := make([]string, 0, len(r.ByState))
	for state := range r.ByState {
		states = append(states, state)
	}
	slices.Sort(states)

	for _, state := range states {
		fmt.Fprintf(w, "orders %s\t%d\n", state, r.ByState[state])
	}

	for _, v := range transitions.Verdicts() {
		if n := r.Verdicts[v.String()]; n > 0 {
			fmt.Fprintf(w, "requests %s\t%d\n", v, n)
		}
	}
	fmt.Fprintf(w, "capacity of an order\t%.1f write and %.1f read units on average, at most %.0f and %.0f\n",
		r.PerOrder.Write, r.PerOrder.Read, r.AtMost.Write, r.AtMost.Read)
	fmt.Fprintf(w, "requests sent twice\t%d (executions %d, cancellations %d, carrier reports %d)\n", r.Duplicates,
		s.Sent.Repeated.Load(), s.Sent.CancelsRepeated.Load(), s.Sent.ReportsRepeated.Load())
	fmt.Fprintf(w, "carrier reports sent too early\t%d\n", s.Sent.ReportsEarly.Load())
	fmt.Fprintf(w, "transitions in the journal\t%d\n", r.Transitions)
	fmt.Fprintf(w, "shipments booked\t%d, at most %d per order\n", r.Shipments, c.MostShipments)
	fmt.Fprintf(w, "notifications sent\t%d, one per transition that notifies a customer%s\n", r.Notifications, repeats(c.Repeats))
	fmt.Fprintf(w, "orders per second\t%.0f (%.1f s, %d cores)\n", r.OrdersPerSecond, r.Seconds, runtime.NumCPU())
	fmt.Fprintf(w, "transition to effect\tp50 %.0f ms, p99 %.0f ms\n", r.ReactionMillis["p50"], r.ReactionMillis["p99"])

	if len(r.Discrepancies) == 0 {
		fmt.Fprintf(w, "recount of the tables\teverything adds up\n")
	} else {
		fmt.Fprintf(w, "recount of the tables\t%d DISCREPANCIES\n", len(r.Discrepancies))
	}

	return w.Flush()
}

// repeats says how many notifications were sent again under their keys, if any were.
func repeats(n int) string {
	if n == 0 {
		return ""
	}

	return fmt.Sprintf(" (%d of them again, under the same key)", n)
}
