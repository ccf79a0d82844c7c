package orders

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
	"ratchet/transitions"
)

func executionsStart(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "start ORDER", Short: "Start the execution of an order that exists", Args: cobra.ExactArgs(1),
		Long: "Starts the execution that drives the order. The execution takes the order as it is, with\n" +
			"its edits. It is named after the order, so a repeat finds the same execution.",
		RunE: func(c *cobra.Command, args []string) error {
			return s.WithWorkflow(c.Context(), func(b *server.Backend) error {
				execution, err := b.Executions.StartPlaced(c.Context(), transitions.OrderID(args[0]))
				if err != nil {
					return err
				}

				if s.JSON {
					return terminal.PrintJSON(c.OutOrStdout(), map[string]string{"executionArn": execution.ARN})
				}
				fmt.Fprintln(c.OutOrStdout(), execution.ARN)

				return nil
			})
		},
	}
}
