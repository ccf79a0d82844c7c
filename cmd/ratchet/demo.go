package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/scenario"
	"ratchet/server"
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
