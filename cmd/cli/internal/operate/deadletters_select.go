package operate

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/deadletters"
)

// deadLetterSelection is the arguments and flags of the commands that act on one dead letter or
// on many.
type deadLetterSelection struct {
	all                   *bool
	handler, since, error *string
	order                 *string
	dryRun                *bool
	job                   *jobrun.Flags
}

func deadLetterSelectionFlags(c *cobra.Command) deadLetterSelection {
	return deadLetterSelection{
		all:     c.Flags().Bool("all", false, "all dead letters that the other flags select"),
		order:   c.Flags().String("order", "", "all dead letters about this order"),
		handler: c.Flags().String("handler", "", "with --all or --order: only those of this handler"),
		since:   c.Flags().String("since", "", "with --all: only those that failed since a time, or since a duration ago"),
		error:   c.Flags().String("error", "", "with --all: only those with this text in their error"),
		dryRun:  c.Flags().Bool("dry-run", false, "only show the dead letters"),
		job:     jobrun.AddFlags(c),
	}
}

// check reports arguments that do not fit together.
func (f deadLetterSelection) check(c *cobra.Command, args []string) error {
	if err := arguments.Given(c.Flags(), "handler", "since", "error", "order"); err != nil {
		return err
	}

	// Selecting flags without --all are a mistake; they must not be ignored.
	switch {
	case *f.all && *f.order != "":
		return exit.UsageError("all: not with --order")
	case f.many() && len(args) > 0:
		return exit.UsageError("all and order: not with HANDLER LETTER")
	case !*f.all && *f.since+*f.error != "":
		return exit.UsageError("since and error: only with --all")
	case !f.many() && *f.handler != "":
		return exit.UsageError("handler: only with --all or --order")
	case !f.many() && len(args) != 2:
		return exit.UsageError("name HANDLER LETTER, or use --order or --all")
	}

	return f.job.Check()
}

// many tells whether the flags select dead letters.
func (f deadLetterSelection) many() bool { return *f.all || *f.order != "" }

// of returns the selected dead letters of a handler.
func (f deadLetterSelection) of(ctx context.Context, b *server.Backend, handler string, since time.Time) iter.Seq2[deadletters.Letter, error] {
	if *f.order == "" {
		return b.DeadLetters().All(ctx, handler, deadletters.Filter{Since: since, Error: *f.error})
	}

	return func(yield func(deadletters.Letter, error) bool) {
		for after := ""; ; {
			page, next, err := listDeadLetters(ctx, b.Orders.Mapping(), b.DeadLetters(), handler, *f.order, after, pageOfLetters)
			if err != nil {
				yield(deadletters.Letter{}, err)
				return
			}

			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}

			if after = next; after == "" {
				return
			}
		}
	}
}

// pageOfLetters is how many dead letters of an order are read at once.
const pageOfLetters = 100

// each calls act for the dead letter that is named, or for those of an order, and prints the result. With --all a job of
// the kind acts on them, one for each handler. If a dead letter is refused, the error has the exit status exit.Refused.
func (f deadLetterSelection) each(c *cobra.Command, s *settings.Settings, b *server.Backend, args []string, kind jobs.Kind, done string, act func(deadletters.Letter) error) error {
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

	if !f.many() {
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
		if *f.all && !*f.dryRun {
			if err := f.run(c, s, b, kind, h.Name, since, done); exit.StatusOf(err) == exit.Refused {
				refused = err
			} else if err != nil {
				return err
			}

			continue
		}

		for l, err := range f.of(c.Context(), b, h.Name, since) {
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

// run lets a job act on the dead letters of a handler, if it has any.
func (f deadLetterSelection) run(c *cobra.Command, s *settings.Settings, b *server.Backend, kind jobs.Kind, handler string, since time.Time, done string) error {
	for _, err := range f.of(c.Context(), b, handler, since) {
		if err != nil {
			return err
		}

		n := jobs.New{Kind: kind, Filter: jobs.Filter{Handler: handler, Since: since, Error: *f.error}}

		return f.job.All(c, s, b, n, "dead letter", done+": "+handler)
	}

	return nil
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
