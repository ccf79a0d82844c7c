package operate

import (
	"context"
	"fmt"
	"iter"
	"slices"
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

// each calls act for the dead letter that is named, and prints the result. Those that --all or --order select are the
// subjects of jobs of the kind, one for each handler. If a dead letter is refused, the error has the exit status
// exit.Refused.
func (f deadLetterSelection) each(c *cobra.Command, s *settings.Settings, b *server.Backend, args []string, kind jobs.Kind, done string, act func(deadletters.Letter) error) error {
	if !f.many() {
		return f.named(c, s, b, args, done, act)
	}

	since, err := arguments.PointInTime("since", *f.since)
	if err != nil {
		return err
	}

	handlers := b.Handlers()
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
		letters := f.counted(s, &read, f.of(c.Context(), b, h.Name, since))

		var err error
		switch {
		case *f.dryRun:
			err = f.show(c, s, b, letters)
		case *f.all:
			err = f.run(c, s, b, jobs.New{Kind: kind, Filter: jobs.Filter{Handler: h.Name, Since: since, Error: *f.error}}, letters, done)
		default:
			err = f.runOfOrder(c, s, b, jobs.New{Kind: kind, Filter: jobs.Filter{Handler: h.Name}}, letters, done)
		}

		if exit.StatusOf(err) == exit.Refused {
			refused = err
		} else if err != nil {
			return err
		}
	}

	return refused
}

// letterNamed returns the dead letter that HANDLER and LETTER name. One that cannot be decoded is no error: it is shown with the
// reason, and can be discarded.
func letterNamed(ctx context.Context, b *server.Backend, args []string) (deadletters.Letter, error) {
	h, err := handlerNamed(b, args[0])
	if err != nil {
		return deadletters.Letter{}, err
	}

	l, err := b.DeadLetters().Get(ctx, h.Name, args[1])
	if l.Unreadable != "" {
		err = nil
	}

	return l, err
}

// named acts on the dead letter that the arguments name.
func (f deadLetterSelection) named(c *cobra.Command, s *settings.Settings, b *server.Backend, args []string, done string, act func(deadletters.Letter) error) error {
	l, err := letterNamed(c.Context(), b, args)
	if err != nil {
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

// counted passes the letters on, and shows how many the command has read.
func (f deadLetterSelection) counted(s *settings.Settings, read *int, letters iter.Seq2[deadletters.Letter, error]) iter.Seq2[deadletters.Letter, error] {
	return func(yield func(deadletters.Letter, error) bool) {
		for l, err := range letters {
			if err == nil {
				*read++
				s.Progress.Print("%s read", plural.Of(*read, "dead letter"))
			}

			if !yield(l, err) {
				return
			}
		}
	}
}

// show prints the letters of a dry run.
func (f deadLetterSelection) show(c *cobra.Command, s *settings.Settings, b *server.Backend, letters iter.Seq2[deadletters.Letter, error]) error {
	for l, err := range letters {
		if err != nil {
			return err
		}

		if err := printDeadLetterResult(c, s.JSON, views.ToPrinted(b.Orders.Mapping(), l), "selected"); err != nil {
			return err
		}
	}

	return nil
}

// run lets a job act on the dead letters of a handler, if it has any.
func (f deadLetterSelection) run(c *cobra.Command, s *settings.Settings, b *server.Backend, n jobs.New, letters iter.Seq2[deadletters.Letter, error], done string) error {
	for _, err := range letters {
		if err != nil {
			return err
		}

		return f.job.All(c, s, b, n, "dead letter", done+": "+n.Filter.Handler)
	}

	return nil
}

// runOfOrder lets a job act on the letters, which it has by their ids: an index finds them by their order.
func (f deadLetterSelection) runOfOrder(c *cobra.Command, s *settings.Settings, b *server.Backend, n jobs.New, letters iter.Seq2[deadletters.Letter, error], done string) error {
	var ids []string
	for l, err := range letters {
		if err != nil {
			return err
		}
		ids = append(ids, l.ID)
	}

	var refused error
	for n.IDs = range slices.Chunk(ids, jobs.MostIDs) {
		err := f.job.All(c, s, b, n, "dead letter", done+": "+n.Filter.Handler)
		if exit.StatusOf(err) == exit.Refused {
			refused = err
		} else if err != nil {
			return err
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
