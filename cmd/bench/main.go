// Command bench measures Ratchet beside a baseline in the same run and prints a table;
// with BENCH_JSON=file it also writes a flat JSON object of name to number. With
// BENCH_SHORT=1 it does less work, to see that it runs, and with -only it runs some parts.
// With BENCH_BEFORE=program it runs the same parts of an earlier build of itself in turns, and prints the
// ratio of each figure. With -costs it prints the tables of docs/reference/costs.md instead: capacity units, not time.
//
// Figures are compared within one run only: the machine's speed is not a constant.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ratchet/cmd/bench/costs"
)

// figure is one measured number.
type figure struct {
	name  string
	value float64
	unit  string
	about string
}

// size says how much to measure. Ways are compared for the budget, and for at least that many
// rounds; orders is how many orders go the whole path.
type size struct {
	budget time.Duration
	rounds int
	orders int
}

func main() {
	prices := flag.Bool("costs", false, "measure capacity units instead of time")
	only := flag.String("only", "", "the parts to run, like tasks,orders, or engine for those of the engine; default: all but kcl, peers, timers, jobs, order-cpu, orders-growth, orders-workers, reaction-lag, order-peers and console-cost, which take minutes")
	kind := flag.String("serve", "", "be a server that another run measures: engine, nothing or worker")
	data := flag.String("data", "", "the data directory of -serve engine, the URL of the engine of -serve worker")
	notify := flag.String("notify", "", "where -serve worker sends notifications")
	profiles := flag.String("profiles", "", "a folder that gets the profiles cpu.out and allocs.out of the parts, for go tool pprof")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	measure := func(ctx context.Context, out io.Writer) error { return run(ctx, out, *only) }
	// These parts compare with an earlier engine by themselves: the client is the same one.
	if before := os.Getenv("BENCH_BEFORE"); before != "" && *only != "engine-update" && *only != "engine-reads" {
		measure = func(ctx context.Context, out io.Writer) error { return compareBefore(ctx, out, before, *only) }
	}

	if *prices {
		measure = runCosts
	}

	if *kind != "" {
		measure = func(ctx context.Context, out io.Writer) error {
			return serve(ctx, *kind, *data, *notify, os.Stdin, out)
		}
	}

	if err := profiled(*profiles, func() error { return measure(ctx, os.Stdout) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// benchPart is a part of the benchmark that can be run alone.
type benchPart struct {
	name    string
	measure func(context.Context, size) ([]figure, error)
}

var benchParts = []benchPart{
	{"workflow", benchWorkflow},
	{"costs", benchCosts},
	{"order-costs", benchOrderCosts},
	{"apply", onEngine(benchApply)},
	{"consume", onEngine(benchConsume)},
	{"transfers", onEngine(benchTransfers)},
	{"local", benchLocal},
	{"claims", benchClaims},
	{"http", benchHTTP},
	{"tasks", benchTasks},
	{"streams", benchStreams},
	{"orders", benchOrders},
	{"deliveries", benchDeliveries},
	{"api-pages", benchAPIPages},
	{"console-pages", benchConsolePages},
}

// engineGroup is the name of all engineParts.
const engineGroup = "engine"

// longParts run only by name.
var longParts = []benchPart{{"kcl", benchKCL}, {"peers", benchExecutionPeers}, {"timers", benchTimers}, {"jobs", benchJobs}, {"order-cpu", benchOrderCPU}, {"orders-growth", benchOrdersGrowth},
	{"orders-workers", benchOrdersWorkers}, {"reaction-lag", benchReactionLag}, {"order-peers", benchOrderPeers}, {"console-cost", benchConsoleCost}}

// selectParts returns the parts with the names, which are separated by commas, or all but the long
// ones.
func selectParts(names string) (selected []benchPart, err error) {
	if names == "" {
		return slices.Concat(benchParts, engineParts), nil
	}

	all := slices.Concat(benchParts, engineParts, longParts)
	for name := range strings.SplitSeq(names, ",") {
		if name == engineGroup {
			selected = append(selected, engineParts...)
			continue
		}

		i := slices.IndexFunc(all, func(p benchPart) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q", name)
		}
		selected = append(selected, all[i])
	}

	return selected, nil
}

func run(ctx context.Context, out io.Writer, only string) error {
	work := size{budget: 15 * time.Second, rounds: 3, orders: 2000}
	// Such a run shows only that every part works; the figures mean nothing.
	if os.Getenv("BENCH_SHORT") != "" {
		work = size{budget: 300 * time.Millisecond, rounds: 1, orders: 200}
	}

	selected, err := selectParts(only)
	if err != nil {
		return err
	}

	debug.SetGCPercent(400) // as the ratchet command does
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))

	var figures []figure
	var failed error
	for _, part := range selected {
		f, err := part.measure(ctx, work)
		// The figures of a part that fails halfway are kept, too.
		figures = append(figures, f...)

		if err != nil {
			failed = errors.Join(failed, err) // print what other parts measured
		}

		// An interrupt ends the run, and the figures so far are printed.
		if ctx.Err() != nil {
			break
		}
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d cores, %s\n", runtime.NumCPU(), runtime.Version())

	for _, f := range figures {
		fmt.Fprintf(w, "%s\t%.2f %s\t%s\n", f.name, f.value, f.unit, f.about)
	}

	return errors.Join(failed, w.Flush(), writeJSON(os.Getenv("BENCH_JSON"), figures))
}

// runCosts prints the tables of docs/reference/costs.md.
func runCosts(ctx context.Context, out io.Writer) error {
	for _, part := range costs.Parts() {
		table, err := part.Measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", part.Name, err)
		}

		fmt.Fprintf(out, "%s\n\n%s\n", part.Name, table)
	}

	return nil
}

// benchCosts measures the capacity units of a transition and of a payment.
func benchCosts(ctx context.Context, _ size) ([]figure, error) {
	u, err := costs.PerTransition(ctx)
	if err != nil {
		return nil, err
	}

	keyed, err := costs.KeyedAfter(ctx, 1000)
	if err != nil {
		return nil, err
	}

	atOnce, captured, err := costs.PerPayment(ctx)

	return []figure{
		{
			name:  "wcu_per_transition",
			value: u.Write,
			about: "write units per transition, id given, order of one line until its ring is full",
		},
		{name: "rcu_per_transition", value: u.Read, about: "read units"},
		{
			name:  "keyed_request_read_units_after_1000",
			value: keyed.Read,
			about: "read units of a new request with a request id and no transitionId, after 1,000 such",
		},
		{name: "keyed_request_write_units_after_1000", value: keyed.Write, about: "write units"},
		{name: "payment_write_units", value: atOnce.Write, about: "write units of a payment that is charged at once"},
		{name: "payment_calls", value: atOnce.Calls, about: "its calls of DynamoDB, without the processor's"},
		{
			name:  "payment_write_units_captured",
			value: captured.Write,
			about: "write units of a payment that is authorized and captured",
		},
		{name: "payment_calls_captured", value: captured.Calls, about: "its calls of DynamoDB"},
	}, err
}

// onEngine returns a part that measures on an embedded engine of its own.
func onEngine(part func(context.Context, size, *endpoint) ([]figure, error)) func(context.Context, size) ([]figure, error) {
	return func(ctx context.Context, work size) (figures []figure, err error) {
		// An engine of its own for each part, so that no part inherits the data of another.
		e, err := openEngine()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.stop()) }()

		return part(ctx, work, e)
	}
}

// parts runs the parts on an endpoint, one after the other, and stops at the first error.
func parts(ctx context.Context, work size, e *endpoint, all ...func(context.Context, size, *endpoint) ([]figure, error)) (figures []figure, err error) {
	for _, part := range all {
		f, err := part(ctx, work, e)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f...)
	}

	return figures, nil
}

// benchLocal measures the same on DynamoDB Local. If DynamoDB Local cannot be started, the figures
// are left out, and stderr says so.
func benchLocal(ctx context.Context, work size) (figures []figure, err error) {
	e, err := openLocal(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF DYNAMODB LOCAL, it cannot be started: %v\n\n", err)
		return nil, ctx.Err()
	}
	defer func() { err = errors.Join(err, e.stop()) }()

	return parts(ctx, work, e, benchApply, benchTransfers)
}

// writeJSON writes the figures to the file as one flat object, name to value. Without a name
// it does nothing.
func writeJSON(name string, figures []figure) error {
	if name == "" {
		return nil
	}

	values := map[string]float64{}
	for _, f := range figures {
		values[f.name] = f.value
	}

	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}

	return os.WriteFile(name, append(text, '\n'), 0o600)
}
