package money

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/inventory"
	"ratchet/server"
)

func inventoryGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get SKU...", Short: "Show the stock of SKUs", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				levels := make([]inventory.Level, len(args))
				for i, sku := range args {
					var found bool
					var err error
					if levels[i], found, err = b.Stock.Level(c.Context(), sku); err != nil {
						return err
					}

					// One unknown SKU fails the command: a table without its line would look
					// complete.
					if !found {
						return fmt.Errorf("sku %s: %w", sku, exit.ErrNotFound)
					}
				}

				return printLevels(c.OutOrStdout(), s.JSON, levels)
			})
		},
	}
}

func printLevels(out io.Writer, asJSON bool, levels []inventory.Level) error {
	if asJSON {
		for _, l := range levels {
			if err := terminal.PrintJSON(out, l); err != nil {
				return err
			}
		}

		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SKU\tAVAILABLE\tRESERVED\tCOMMITTED")

	for _, l := range levels {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", l.SKU, l.Available, l.Reserved, l.Committed)
	}

	return w.Flush()
}
