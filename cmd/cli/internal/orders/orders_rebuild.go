package orders

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersRebuild(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rebuild ORDER", Short: "Rebuild an order from its journal", Args: cobra.ExactArgs(1),
		Long: `Replays the order's journal and prints the order that follows from it. With --write, an
order that is missing or behind its journal (as after a restore of one table) is moved to
the end of the journal by one conditional write, after you have typed the order's id on
standard input. An order that is not behind its journal is never changed.

The content of an order (lines, total, addresses, notes) is not in the journal and cannot
be rebuilt. An order that exists keeps its content; a missing order comes back without it.

If the stream writes the journal, first let a worker read the stream to its end.
Otherwise the newest rows are missing.`,
	}
	write := c.Flags().Bool("write", false, "write the order; asks for its id first")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			id := transitions.OrderID(args[0])
			// The first call does not write: the person confirms what would be written.
			r, err := b.Orders.Restore(c.Context(), id, false)
			if err == nil && *write {
				// On standard error, because standard output gets the final result.
				if err := printRestoration(c.ErrOrStderr(), r); err != nil {
					return err
				}

				if err := confirm(c, string(id)); err != nil {
					return err
				}
				// Replayed again: the journal and the order may have moved while the person typed.
				r, err = b.Orders.Restore(c.Context(), id, true)
			}

			switch {
			case errors.Is(err, transitions.ErrUnknownOrder):
				return fmt.Errorf("order %s: %w", id, exit.ErrNotFound)
			case errors.Is(err, transitions.ErrNothingToRestore):
				// The order is printed all the same: it shows why there is nothing to write.
				err = exit.With(exit.Refused, err)
			case err != nil:
				return err
			}

			var printed error
			if s.JSON {
				printed = terminal.PrintJSON(c.OutOrStdout(), r)
			} else {
				printed = printRestoration(c.OutOrStdout(), r)
			}

			return errors.Join(printed, err)
		})
	}

	return c
}

// confirm reads a line of standard input and fails if it is not the word.
func confirm(c *cobra.Command, word string) error {
	fmt.Fprintf(c.ErrOrStderr(), "type the order's id to write it: ")

	line, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 1<<10)).ReadString('\n')
	// An end of the input without a line feed still has a line.
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	if strings.TrimSpace(line) != word {
		return exit.UsageError("nothing was written: the order's id was not typed")
	}

	return nil
}

// printRestoration prints the order that the journal describes, and whether it was written.
func printRestoration(out io.Writer, r transitions.Restoration) error {
	what := fmt.Sprintf("by its journal (%s) order %s is %s since transition %d, version %d of the definition, %s\n",
		plural.Of(r.Rows, "row"), r.OrderID, r.State, r.TransitionID, r.DefinitionVersion, terminal.Stamp(r.At))
	switch {
	case r.Order == nil:
		what += "the order is missing; it comes back without " + strings.Join(r.Lost, ", ") + "\n"
	default:
		what += fmt.Sprintf("the order is %s at transition %d; its content stays as it is there\n", r.Order.State, r.Order.TransitionID)
	}

	if r.Written {
		what += "written\n"
	}
	_, err := io.WriteString(out, what)

	return err
}
