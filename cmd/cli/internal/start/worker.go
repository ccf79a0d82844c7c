package start

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
)

func workerCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "worker", Short: "Run one worker on an endpoint or AWS: activities, stream poller, requests' queue",
		Long: "Serves every activity of the state machine, polls the orders' stream and receives requests\n" +
			"from --requests-queue, if it is set, until interrupted. Then it finishes its work in hand and\n" +
			"prints the capacity units that its transitions consumed, by verdict. Run `ratchet init` once\n" +
			"before the first worker. Any number of workers may run at the same time.\n\n" +
			"--only runs some of a worker's parts: activities, stream, requests, notifications, sweeps, jobs. Each\n" +
			"part must run somewhere. deploy/permissions lists what each may call.",
		Example: "  ratchet worker --name worker-1\n  ratchet worker --only stream,notifications",
		Args:    cobra.NoArgs,
	}
	name := c.Flags().String("name", "worker", "name in execution histories and leases")
	sandbox := c.Flags().Bool("sandbox-carrier", false, "also run the sandbox carrier, which reports shipments")
	only := c.Flags().StringSlice("only", nil, "parts of the worker to run; default: all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		parts := make([]server.WorkerPart, len(*only))
		for i, name := range *only {
			parts[i] = server.WorkerPart(name)
			// Checked before anything is opened, so that a typo ends at once.
			if !slices.Contains(server.WorkerParts(), parts[i]) {
				return exit.UsageError("only %q: must be one of %s", name, server.WorkerParts())
			}
		}

		// A worker with steps that do not fit its state machine would fail every task.
		if err := s.CheckWorkflow(); err != nil {
			return err
		}

		consumed := &server.Consumption{}

		return s.WithEvents(c.Context(), server.Events{Consumed: consumed.Add}, func(b *server.Backend) (err error) {
			// The engine runs in one process only, and `dev` has its own worker.
			if b.Engine != nil {
				return exit.UsageError("worker needs --endpoint-url or an AWS region; `ratchet dev` runs the embedded engine with its worker")
			}

			if *sandbox && b.Carrier == nil {
				return exit.UsageError("sandbox-carrier: the carrier is not the sandbox")
			}

			// The process counts as not ready until its parts run.
			b.ExpectWorker()

			admin, err := b.StartAdmin(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, admin.Close()) }()

			if err := views.PrintAdmin(c.OutOrStdout(), s.JSON, admin); err != nil {
				return err
			}

			group, ctx := errgroup.WithContext(c.Context())
			group.Go(func() error { return b.Run(ctx, *name, parts...) })

			if *sandbox {
				group.Go(func() error { return b.RunCarrier(ctx) })
			}

			if err := group.Wait(); err != nil {
				return err
			}

			// Printed at a clean end only; metrics have the counts all the time.
			return printConsumed(c.OutOrStdout(), s.JSON, consumed)
		})
	}

	return c
}

// printConsumed prints the capacity units that the worker's calls consumed, by verdict.
func printConsumed(out io.Writer, asJSON bool, consumed *server.Consumption) error {
	sums := consumed.ByVerdict()
	if asJSON {
		return terminal.PrintJSON(out, map[string]any{"consumed": sums})
	}

	for _, v := range transitions.Verdicts() {
		if sum, given := sums[v.String()]; given {
			if _, err := fmt.Fprintf(out, "%s: %s, %.1f read and %.1f write units\n", v, plural.Of(sum.Calls, "call"), sum.Read, sum.Write); err != nil {
				return err
			}
		}
	}

	return nil
}
