package start

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once"
	"ratchet/server"
)

func initCommand(s *settings.Settings) *cobra.Command {
	var keep bool

	c := &cobra.Command{
		Use: "init", Short: "Create the tables, activities, queues and state machine that are missing", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.WithWorkflow(c.Context(), func(b *server.Backend) error {
				create := b.Init
				if keep {
					create = b.InitResources
				}

				if err := create(c.Context()); err != nil {
					return err
				}

				// A table that exists may still be unfit: another key, a time to live that is off,
				// or several Regions.
				if err := once.Check(c.Context(), b.DynamoDB, b.Tables.Once); err != nil {
					return err
				}

				arn, err := b.StateMachineARN(c.Context())
				// With --keep-machine there may be none yet.
				if err != nil && !(keep && errors.Is(err, server.ErrNotInitialized)) {
					return err
				}

				if s.JSON {
					return terminal.PrintJSON(c.OutOrStdout(), map[string]any{"stateMachineArn": arn, "tables": b.Tables})
				}
				fmt.Fprintf(c.OutOrStdout(), "ready: tables %s*, state machine %s\n", b.Config.Prefix, cmp.Or(arn, "not created"))

				return nil
			})
		},
	}
	c.Flags().BoolVar(&keep, "keep-machine", false, "leave the state machine as it is, as a rollout needs before its workers run")

	return s.Long(c, "creating what is missing")
}
