package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/server/scenario"
)

func demoCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Run a thousand orders of the built-in shop through all parts and check the result",
		Long: `Runs orders on an embedded engine in a temporary directory. Orders are placed as Step
Functions executions and two workers compete for them. The demo sends many requests
twice or out of order, declines some payments, lets some items run out and cancels some
orders. Then it recounts every table independently. A discrepancy is printed with its
order.`,
		Args: cobra.NoArgs,
	}
	orders := c.Flags().Int("orders", 1000, "number of orders, 1 to 100000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *orders < 1 || *orders > 100_000 {
			return exit.UsageError("orders %d: 1 to 100000", *orders)
		}

		// At level info, the log would report each fault that the demo causes on purpose.
		if !s.Flags.Changed("log-level") {
			if err := s.Flags.Set("log-level", "warn"); err != nil {
				return err
			}
		}

		cfg, log, err := s.Load()
		if err != nil {
			return err
		}

		// Its orders, faults and recount are those of the shop.
		if cfg.Parts.Workflow != nil || cfg.OrderDefinition != "" || cfg.StateMachine != "" {
			return exit.UsageError("demo runs the built-in shop, and this program or its settings have another workflow: `ratchet dev` runs it, `ratchet trigger EVENT` brings a sample order to an event")
		}

		dir, err := os.MkdirTemp("", "ratchet-demo-*")
		if err != nil {
			return err
		}

		cfg.Data = filepath.Join(dir, "data")
		cfg.Notify = "file:" + filepath.Join(dir, "notifications.jsonl")
		// Flags of the user win over the demo's own faults.
		if !s.Flags.Changed("decline-percent") {
			cfg.DeclinePercent = 5
		}

		if !s.Flags.Changed("timeout-percent") {
			cfg.TimeoutPercent = 3
		}

		if !s.Flags.Changed("carrier-delay") {
			cfg.CarrierDelay = 100 * time.Millisecond
		}

		// The meter counts what happens; the recount afterwards reads the tables on its own.
		session := &scenario.Session{Plan: scenario.Default(*orders)}
		consumed := &server.Consumption{PerOrder: true}
		events := session.Meter.Events()
		events.Consumed = consumed.Add

		b, err := server.Embed(cfg, log, events)
		if err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}

		if err := createGiven(c.Context(), b); err != nil {
			return errors.Join(err, b.Close(), os.RemoveAll(dir))
		}

		s.Progress.Follow(func() string { return demoProgress(session) })
		err = runDemo(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), b, session, consumed, s.JSON)

		// The backend is closed before its files are removed.
		return errors.Join(err, b.Close(), os.RemoveAll(dir))
	}

	return s.Long(c, "starting")
}

// createGiven makes the table that the setting orders-table names, which only its own program makes elsewhere: the demo
// has an engine of its own, where it stands for that table.
func createGiven(ctx context.Context, b *server.Backend) error {
	if b.Config.OrdersTable.Name == "" {
		return nil
	}

	_, err := b.DynamoDB.CreateTable(ctx, b.Orders.Mapping().OrdersTable(b.Tables.Orders))

	return err
}

// runDemo runs the session and prints the result. It fails if the recount of the tables finds a
// discrepancy.
func runDemo(ctx context.Context, out, notes io.Writer, b *server.Backend, session *scenario.Session, consumed *server.Consumption, asJSON bool) error {
	if !asJSON {
		fmt.Fprintf(out, "%s, two workers, %d%% of the requests sent twice\n", plural.Of(session.Plan.Orders, "order"), session.Plan.Duplicates)
	}

	count, err := session.Run(ctx, b)
	if err != nil {
		return err
	}

	if asJSON {
		err = terminal.PrintJSON(out, demoReport(session, count, consumed))
	} else {
		err = demoTable(out, session, count, consumed)
	}

	if err == nil && len(count.Discrepancies) > 0 {
		for _, d := range count.Discrepancies {
			fmt.Fprintf(notes, "%s: %s\n", d.OrderID, d.What)
		}
		// The discrepancies are printed; the error has the exit status.
		err = exit.With(exit.Failure, fmt.Errorf("%s", plural.Of(len(count.Discrepancies), "discrepancy")))
	}

	return err
}
