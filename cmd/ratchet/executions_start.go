package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
)

func executionsStart(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "start ORDER", Short: "Start the execution of an order that exists", Args: cobra.ExactArgs(1),
		Long: "Starts the execution that drives the order. The execution is named after the order, so\n" +
			"a repeat finds the same execution.",
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				order, err := getOrder(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				arn, err := b.StateMachineARN(c.Context())
				if err != nil {
					return err
				}

				execution, err := b.Start(c.Context(), arn, transitions.NewOrder{ID: order.ID, Items: order.Items, Total: order.Total})
				if err != nil {
					return err
				}

				if s.json {
					return printJSON(c.OutOrStdout(), map[string]string{"executionArn": execution})
				}
				fmt.Fprintln(c.OutOrStdout(), execution)

				return nil
			})
		},
	}
}
