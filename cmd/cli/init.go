package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/once"
	"ratchet/server"
)

func initCommand(s *settings) *cobra.Command {
	return s.long(&cobra.Command{
		Use: "init", Short: "Create the tables, activities, queues and state machine that are missing", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withWorkflow(c.Context(), func(b *server.Backend) error {
				if err := b.Init(c.Context()); err != nil {
					return err
				}

				// A table that exists may still be unfit: another key, a time to live that is off,
				// or several Regions.
				if err := once.Check(c.Context(), b.DynamoDB, b.Tables.Once); err != nil {
					return err
				}

				arn, err := b.StateMachineARN(c.Context())
				if err != nil {
					return err
				}

				if s.json {
					return printJSON(c.OutOrStdout(), map[string]any{"stateMachineArn": arn, "tables": b.Tables})
				}
				fmt.Fprintf(c.OutOrStdout(), "ready: tables %s*, state machine %s\n", b.Config.Prefix, arn)

				return nil
			})
		},
	}, "creating what is missing")
}
