package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/workflow"
)

func workflowCommand() *cobra.Command {
	show := &cobra.Command{Use: "show", Short: "Draw the order's states and events", Args: cobra.NoArgs}
	format := show.Flags().String("format", "table", "mermaid, dot or table")
	show.RunE = func(c *cobra.Command, _ []string) error {
		text, err := workflow.Order().Render(*format)
		if err != nil {
			return &statusError{exitUsage, err}
		}
		fmt.Fprint(c.OutOrStdout(), text)
		return nil
	}
	return group("workflow", "Look at what an order may do", show)
}
