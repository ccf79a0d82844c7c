package operate

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

// deadLetterSelection is the arguments and flags of the commands that act on one dead letter or
// on many.
type deadLetterSelection struct {
	all                   *bool
	handler, since, error *string
	dryRun                *bool
}

func deadLetterSelectionFlags(c *cobra.Command) deadLetterSelection {
	return deadLetterSelection{
		all:     c.Flags().Bool("all", false, "all dead letters that the other flags select"),
		handler: c.Flags().String("handler", "", "with --all: only those of this handler"),
		since:   c.Flags().String("since", "", "with --all: only those that failed since a time, or since a duration ago"),
		error:   c.Flags().String("error", "", "with --all: only those with this text in their error"),
		dryRun:  c.Flags().Bool("dry-run", false, "only show the dead letters"),
	}
}

// check reports arguments that do not fit together.
func (f deadLetterSelection) check(c *cobra.Command, args []string) error {
	if err := arguments.Given(c.Flags(), "handler", "since", "error"); err != nil {
		return err
	}

	// Selecting flags without --all are a mistake; they must not be ignored.
	switch filtered := *f.handler+*f.since+*f.error != ""; {
	case *f.all && len(args) > 0:
		return exit.UsageError("all: not with HANDLER LETTER")
	case !*f.all && filtered:
		return exit.UsageError("handler, since and error: only with --all")
	case !*f.all && len(args) != 2:
		return exit.UsageError("name HANDLER LETTER, or use --all")
	}

	return nil
}

// each calls act for every dead letter that is selected, and prints the result. If act refuses a
// dead letter, the error has the exit status exit.Refused.
func (f deadLetterSelection) each(c *cobra.Command, s *settings.Settings, b *server.Backend, args []string, done string, act func(deadletters.Letter) error) error {
	letters, handlers := b.DeadLetters(), b.Handlers()

	since, err := arguments.PointInTime("since", *f.since)
	if err != nil {
		return err
	}

	show := func(l deadletters.Letter) (string, error) {
		if *f.dryRun {
			return "selected", nil
		}

		if err := act(l); err != nil {
			// One dead letter that is refused must not stop the others.
			return err.Error(), exit.With(exit.Refused, nil)
		}

		return done, nil
	}

	if !*f.all {
		h, err := handlerNamed(b, args[0])
		if err != nil {
			return err
		}

		l, err := letters.Get(c.Context(), h.Name, args[1])
		// A dead letter that cannot be decoded can still be discarded, so its error alone does
		// not end the command.
		if err != nil && l.Unreadable == "" {
			return err
		}

		if *f.dryRun {
			return printDeadLetter(c.OutOrStdout(), s.JSON, views.ToPrinted(b.Orders.Mapping(), l))
		}

		if err := act(l); err != nil {
			return err
		}

		return printDeadLetterResult(c, s.JSON, views.ToPrinted(b.Orders.Mapping(), l), done)
	}

	if *f.handler != "" {
		h, err := handlerNamed(b, *f.handler)
		if err != nil {
			return err
		}
		handlers = []streams.Handler{h}
	}

	var refused error
	read := 0
	for _, h := range handlers {
		for l, err := range letters.All(c.Context(), h.Name, deadletters.Filter{Since: since, Error: *f.error}) {
			if err != nil {
				return err
			}

			read++
			s.Progress.Print("%s read", plural.Of(read, "dead letter"))

			result, err := show(l)
			if err != nil {
				refused = err
			}

			if err := printDeadLetterResult(c, s.JSON, views.ToPrinted(b.Orders.Mapping(), l), result); err != nil {
				return err
			}
		}
	}

	return refused
}

func printDeadLetterResult(c *cobra.Command, asJSON bool, l views.PrintedDeadLetter, result string) error {
	if asJSON {
		return terminal.PrintJSON(c.OutOrStdout(), struct {
			views.PrintedDeadLetter
			Result string `json:"result"`
		}{l, result})
	}

	first, _, _ := strings.Cut(l.Error, "\n")
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s %s of order %s (%s)\n", result, l.Handler, l.ID, terminal.OrDash(l.Order), first)

	return err
}
