package develop

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/diagram"
	"ratchet/workflow/file"
)

func showCommand(s *settings.Settings) *cobra.Command {
	command := &cobra.Command{
		Use:       "show [order|payment|shipment]",
		Short:     "Draw the states and events of an order, a payment or a shipment",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"order", "payment", "shipment"},
	}
	format := command.Flags().String("format", "table", "svg, yaml, mermaid, dot or table")
	path := command.Flags().String("file", "", "show the definition in this file (YAML or JSON; - is standard input)")
	counts := command.Flags().Bool("counts", false, "with the number of orders in each state, counted in the orders' table")

	command.RunE = func(c *cobra.Command, args []string) error {
		name := "order"
		if len(args) == 1 {
			if *path != "" {
				return exit.UsageError("show %s or --file %s, not both", args[0], *path)
			}

			name = args[0]
		}

		if !*counts {
			// A flag that names a target but changes nothing is a mistake.
			for _, target := range []*settings.FlagGroup{settings.URLFlags, settings.DataFlags, settings.StoreFlags} {
				if given := settings.FirstChanged(s.Flags, target); given != "" {
					return exit.UsageError("%s: only with --counts, because nothing else is read from a target", given)
				}
			}
		}

		if *counts && name != "order" {
			return exit.UsageError("only orders are counted, not %ss", name)
		}

		d, err := s.Definition(c, name, *path)
		if err != nil {
			return err
		}

		var byState map[workflow.State]int
		if *counts {
			if byState, err = countOrders(s, c, d); err != nil {
				return err
			}
		}

		text, err := rendered(d, *format, byState)
		if err != nil {
			return exit.With(exit.Usage, err)
		}

		_, err = fmt.Fprint(c.OutOrStdout(), text)

		return err
	}

	return s.Long(command, "counting orders")
}

// rendered returns the definition in a format: as a definition file, or drawn.
func rendered(d *workflow.Definition, format string, counts map[workflow.State]int) (string, error) {
	switch {
	case format == "yaml" && counts != nil:
		return "", errors.New("a definition file (yaml) has no place for counts of orders")
	case format == "yaml":
		return file.Format(d), nil
	}

	text, err := diagram.Render(d, format, counts)
	if errors.Is(err, diagram.ErrFormat) {
		err = fmt.Errorf("%w, or yaml", err)
	}

	return text, err
}

// countOrders counts the orders of the definition's version by state. It reports on standard error
// how many orders have other versions or states.
func countOrders(s *settings.Settings, c *cobra.Command, d *workflow.Definition) (map[workflow.State]int, error) {
	byState := map[workflow.State]int{}
	err := s.With(c.Context(), func(b *server.Backend) error {
		sweep := transitions.Sweep{Progress: s.Progress.Orders("counted")}

		counts, err := inspect.Count(c.Context(), b.Orders, sweep)
		if err != nil {
			return err
		}

		others := 0
		for version, states := range counts {
			for state, n := range states {
				// Version 0 is an order without a recorded version, which any version may show.
				if (version == d.Version() || version == 0) && d.HasState(state) {
					byState[state] += n
				} else {
					others += n
				}
			}
		}

		if others > 0 {
			fmt.Fprintf(c.ErrOrStderr(),
				"%s of other versions or states: not in the picture (see `ratchet workflow migrate --dry-run`)\n", plural.Of(others, "order"))
		}

		return nil
	})

	return byState, err
}
