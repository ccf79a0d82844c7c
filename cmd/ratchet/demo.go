package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"ratchet/internal/scenario"
	"ratchet/server"
	"ratchet/transitions"
)

func demoCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Run a thousand orders through everything and check the result",
		Long: `Runs the main job on an embedded engine in a temporary directory: orders are placed as
Step Functions executions, two workers compete, requests are duplicated and reordered
on purpose, some payments decline, some items run out, some orders are cancelled on
the way. Then every table is recounted independently; a discrepancy is printed with
its order, and the exit status is 1.`,
		Args: cobra.NoArgs,
	}
	orders := c.Flags().Int("orders", 1000, "how many, 1 to 100000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *orders < 1 || *orders > 100_000 {
			return usageError("orders %d: 1 to 100000", *orders)
		}

		if !s.flags.Changed("log-level") { // what a demo provokes on purpose is no news
			if err := s.flags.Set("log-level", "warn"); err != nil {
				return err
			}
		}

		cfg, log, err := s.load()
		if err != nil {
			return err
		}

		dir, err := os.MkdirTemp("", "ratchet-demo-*")
		if err != nil {
			return err
		}

		cfg.Data, cfg.Notify = filepath.Join(dir, "data"), "file:"+filepath.Join(dir, "notifications.jsonl")
		if !s.flags.Changed("decline-percent") {
			cfg.DeclinePercent = 5
		}

		if !s.flags.Changed("timeout-percent") {
			cfg.TimeoutPercent = 3
		}

		if !s.flags.Changed("carrier-delay") {
			cfg.CarrierDelay = 100 * time.Millisecond
		}
		session := &scenario.Session{Plan: scenario.Default(*orders)}
		consumed := &server.Consumption{PerOrder: true}
		hooks := session.Meter.Events()
		hooks.Consumed = consumed.Add

		b, err := server.Embed(cfg, log, hooks)
		if err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		err = demo(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), b, session, consumed, s.json)

		return errors.Join(err, b.Close(), os.RemoveAll(dir))
	}

	return c
}

func demo(ctx context.Context, out, progress io.Writer, b *server.Backend, session *scenario.Session, consumed *server.Consumption, asJSON bool) error {
	if !asJSON {
		fmt.Fprintf(out, "%d orders, two workers, %d%% of the requests sent twice\n", session.Plan.Orders, session.Plan.Duplicates)
	}
	done := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		showProgress(progress, session, done)
	}()
	count, err := session.Run(ctx, b)
	close(done)
	<-shown

	if err != nil {
		return err
	}

	if asJSON {
		err = printJSON(out, demoReport(session, count, consumed))
	} else {
		err = demoTable(out, session, count, consumed)
	}

	if err == nil && len(count.Discrepancies) > 0 {
		for _, d := range count.Discrepancies {
			fmt.Fprintf(progress, "%s: %s\n", d.OrderID, d.What)
		}
		err = &statusError{exitFailure, fmt.Errorf("%d discrepancies", len(count.Discrepancies))}
	}

	return err
}

// showProgress draws a bar on a terminal and a line every two seconds elsewhere.
func showProgress(w io.Writer, s *scenario.Session, done <-chan struct{}) {
	counts := func() string {
		m := &s.Meter
		return fmt.Sprintf("applied %d  replayed %d  refused %d", m.Verdicts(transitions.Applied), m.Verdicts(transitions.Replayed),
			m.Verdicts(transitions.WrongState)+m.Verdicts(transitions.Superseded)+m.Verdicts(transitions.NotFound))
	}
	total, settled := int64(s.Plan.Orders), func() int64 { return int64(s.Meter.Settled()) }
	every, show, finish := 2*time.Second, func() { fmt.Fprintf(w, "%d of %d orders  %s\n", settled(), total, counts()) }, func() {}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
		bar := bars.AddBar(total, mpb.PrependDecorators(decor.CountersNoUnit("%d of %d orders ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return counts() })))
		every, show = 100*time.Millisecond, func() { bar.SetCurrent(settled()) }
		finish = func() {
			bar.SetCurrent(total)
			bars.Wait()
		}
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		select {
		case <-done:
			finish()
			return
		case <-ticker.C:
			show()
		}
	}
}

// demoResult is what the demo found, for scripts.
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
	// Consumed are the capacity units of placings and transitions, by verdict;
	// PerOrder the mean of an order, AtMost the most of any.
	Consumed map[string]server.Units `json:"consumed"`
	PerOrder server.Units            `json:"consumedPerOrder"`
	AtMost   server.Units            `json:"consumedPerOrderAtMost"`
}

func demoReport(s *scenario.Session, c scenario.Count, consumed *server.Consumption) demoResult {
	r := demoResult{
		Orders: s.Plan.Orders, ByState: c.ByState, Verdicts: map[string]int64{},
		Duplicates:  s.Sent.Repeated.Load() + s.Sent.CancelsRepeated.Load() + s.Sent.ReportsRepeated.Load(),
		Transitions: c.Transitions, Shipments: c.Shipments, Notifications: c.Notices,
		Seconds: s.Took.Seconds(), OrdersPerSecond: float64(s.Plan.Orders) / s.Took.Seconds(),
		ReactionMillis: map[string]float64{"p50": millis(s.Meter.Latency(0.5)), "p99": millis(s.Meter.Latency(0.99))},
		Discrepancies:  append([]scenario.Discrepancy{}, c.Discrepancies...),
	}
	for _, v := range transitions.Verdicts() {
		r.Verdicts[v.String()] = s.Meter.Verdicts(v)
	}

	r.Consumed = consumed.ByVerdict()
	var orders int
	r.AtMost, orders = consumed.Most()
	for _, sum := range r.Consumed {
		r.PerOrder.Calls += sum.Calls
		r.PerOrder.Read += sum.Read / float64(max(1, orders))
		r.PerOrder.Write += sum.Write / float64(max(1, orders))
	}
	r.PerOrder.Calls /= int64(max(1, orders))

	return r
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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
	fmt.Fprintf(w, "carrier reports too early\t%d\n", s.Sent.ReportsEarly.Load())
	fmt.Fprintf(w, "transitions in the journal\t%d\n", r.Transitions)
	fmt.Fprintf(w, "shipments booked\t%d, at most %d per order\n", r.Shipments, c.MostShipments)
	fmt.Fprintf(w, "notifications sent\t%d, one per transition that a customer hears of\n", r.Notifications)
	fmt.Fprintf(w, "orders per second\t%.0f (%.1f s, %d cores)\n", r.OrdersPerSecond, r.Seconds, runtime.NumCPU())
	fmt.Fprintf(w, "transition to effect\tp50 %.0f ms, p99 %.0f ms\n", r.ReactionMillis["p50"], r.ReactionMillis["p99"])

	if len(r.Discrepancies) == 0 {
		fmt.Fprintf(w, "recount of the tables\teverything adds up\n")
	} else {
		fmt.Fprintf(w, "recount of the tables\t%d DISCREPANCIES\n", len(r.Discrepancies))
	}

	return w.Flush()
}
