package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/server"
	"ratchet/transitions"
)

func workerCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "worker", Short: "Run one worker on an endpoint or AWS: activities, stream poller, requests' queue",
		Long: "Serves every activity of the state machine, polls the orders' stream and receives requests\n" +
			"from --requests-queue, if it is set, until interrupted. Then it finishes its work in hand and\n" +
			"prints the capacity units that its transitions consumed, by verdict. Run `ratchet init` once\n" +
			"before the first worker. Any number of workers may run at the same time.",
		Args: cobra.NoArgs,
	}
	name := c.Flags().String("name", "worker", "name in execution histories and leases")
	sandbox := c.Flags().Bool("sandbox-carrier", false, "also run the sandbox carrier, which reports shipments")
	c.RunE = func(c *cobra.Command, _ []string) error {
		consumed := &server.Consumption{}

		return s.withEvents(c.Context(), server.Events{Consumed: consumed.Add}, func(b *server.Backend) error {
			if b.Engine != nil {
				return usageError("worker needs --endpoint-url or an AWS region; `ratchet dev` runs the embedded engine with its worker")
			}

			if *sandbox && b.Carrier == nil {
				return usageError("sandbox-carrier: the carrier is %s", b.Config.Carrier)
			}

			group, ctx := errgroup.WithContext(c.Context())
			group.Go(func() error { return b.Run(ctx, *name) })

			if *sandbox {
				group.Go(func() error { return b.RunCarrier(ctx) })
			}

			if err := group.Wait(); err != nil {
				return err
			}

			return printConsumed(c.OutOrStdout(), s.json, consumed)
		})
	}

	return c
}

// printConsumed prints the capacity units that the worker's calls consumed, by verdict.
func printConsumed(out io.Writer, asJSON bool, consumed *server.Consumption) error {
	sums := consumed.ByVerdict()
	if asJSON {
		return printJSON(out, map[string]any{"consumed": sums})
	}

	for _, v := range transitions.Verdicts() {
		if sum, given := sums[v.String()]; given {
			if _, err := fmt.Fprintf(out, "%s: %d calls, %.1f read and %.1f write units\n", v, sum.Calls, sum.Read, sum.Write); err != nil {
				return err
			}
		}
	}

	return nil
}
