package main

import (
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/server"
)

func workerCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "worker", Short: "Run one worker on an endpoint or AWS: activities and stream poller",
		Long: "Serves every activity of the state machine and polls the orders' stream until interrupted,\n" +
			"then finishes what it has begun. Run `ratchet init` once before. Start as many as you like.",
		Args: cobra.NoArgs,
	}
	name := c.Flags().String("name", "worker", "shown in execution histories and leases")
	sandbox := c.Flags().Bool("sandbox-carrier", false, "also play the carrier that reports shipments")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			if b.Engine != nil {
				return usageError("worker needs --endpoint-url or an AWS region; `ratchet dev` runs the embedded engine with its worker")
			}
			group, ctx := errgroup.WithContext(c.Context())
			group.Go(func() error { return b.Run(ctx, *name) })
			if *sandbox {
				group.Go(func() error { return b.Carrier.Run(ctx) })
			}
			return group.Wait()
		})
	}
	return c
}
