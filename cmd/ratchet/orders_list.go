package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List orders", Args: cobra.NoArgs}
	state := c.Flags().String("state", "", "only orders in this state")
	version := c.Flags().Int("version", 0, "only orders of this version of the definition; 0: any")
	limit := c.Flags().Int("limit", 100, "at most this many, 1 to 1000")
	after := c.Flags().String("after", "", "continue after this order (the last of the page before)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			orders, next, err := inspect.List(c.Context(), b.Orders, inspect.Page{State: workflow.State(*state), Version: *version,
				After: transitions.OrderID(*after), Limit: *limit})
			if err != nil {
				return err
			}

			if s.json {
				for _, o := range orders {
					if err := printJSON(c.OutOrStdout(), o); err != nil {
						return err
					}
				}

				return nil
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ORDER\tSTATE\tTRANSITION\tUPDATED")

			for _, o := range orders {
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", o.ID, o.State, o.TransitionID, stamp(o.UpdatedAt))
			}

			if err := w.Flush(); err != nil {
				return err
			}

			if next != "" {
				fmt.Fprintf(c.ErrOrStderr(), "more: --after %s\n", next)
			}

			return nil
		})
	}

	return c
}
