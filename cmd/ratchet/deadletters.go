package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/streams"
)

const deadLettersHelp = `Dead letters: changes of orders that a handler gave up on, and what its last attempt
returned. What people wrote into the order is not shown.

Exit status 3: the handler failed again (the letter stays, with the new error), or
somebody else is redriving the letter.`

func deadLettersCommand(s *settings) *cobra.Command {
	c := group("deadletters", "Look at changes that a handler gave up on, and hand them to it again",
		deadLettersList(s), deadLettersShow(s), deadLettersRedrive(s))
	c.Long = deadLettersHelp
	return c
}

// letter is a dead letter as it is printed, without the images of the order.
type letter struct {
	Handler   string    `json:"handler"`
	ID        string    `json:"id"`
	Order     string    `json:"orderId,omitempty"`
	Change    string    `json:"change,omitempty"`
	Error     string    `json:"error"`
	Permanent bool      `json:"permanent"`
	Attempts  int       `json:"attempts"`
	Redrives  int       `json:"redrives"`
	FailedAt  time.Time `json:"failedAt"`
}

func letterOf(l streams.DeadLetter) letter {
	shown := letter{Handler: l.Handler, ID: l.ID, Error: l.Error, Permanent: l.Permanent, Attempts: l.Attempts, Redrives: l.Redrives, FailedAt: l.FailedAt}
	if l.Record != nil {
		shown.Change = string(l.Record.EventName)
		if id, ok := l.Record.Keys["orderId"].(*types.AttributeValueMemberS); ok {
			shown.Order = id.Value
		}
	}

	return shown
}

func deadLetters(b *server.Backend) streams.DeadLetters {
	return streams.DeadLetters{DynamoDB: b.DynamoDB, Table: b.Tables.DeadLetters}
}

// handlerNamed finds one of the handlers, all of which it names when there is none.
func handlerNamed(b *server.Backend, name string) (streams.Handler, error) {
	all := b.Handlers()
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Name
	}

	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}

	return streams.Handler{}, usageError("handler %q: one of %s", name, strings.Join(names, ", "))
}

func deadLettersList(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list [HANDLER]", Short: "List dead letters, of one handler or of all", Args: cobra.MaximumNArgs(1),
		Long: "Lists dead letters, per handler in the order of the stream. Of very large ones the order is not\n" +
			"listed; `show` has it.",
	}
	limit := c.Flags().Int("limit", 100, "at most this many of each handler, 1 to 1000")
	after := c.Flags().String("after", "", "continue after this letter of HANDLER")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *limit < 1 || *limit > 1000:
			return usageError("limit %d: 1 to 1000", *limit)
		case *after != "" && len(args) == 0:
			return usageError("after: only with a HANDLER")
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			handlers := b.Handlers()
			if len(args) == 1 {
				h, err := handlerNamed(b, args[0])
				if err != nil {
					return err
				}
				handlers = []streams.Handler{h}
			}

			var found []letter
			for _, h := range handlers {
				page, next, err := deadLetters(b).List(c.Context(), h.Name, *after, *limit)
				if err != nil {
					return err
				}

				for _, l := range page {
					found = append(found, letterOf(l))
				}

				if next != "" {
					fmt.Fprintf(c.ErrOrStderr(), "more of %s: --after %s\n", h.Name, next)
				}
			}

			return printLetters(c.OutOrStdout(), s.json, found)
		})
	}

	return c
}

func printLetters(out io.Writer, asJSON bool, letters []letter) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "HANDLER\tLETTER\tORDER\tFAILED\tATTEMPTS\tERROR")
	}

	for _, l := range letters {
		if asJSON {
			if err := printJSON(out, l); err != nil {
				return err
			}
			continue
		}
		first, _, _ := strings.Cut(l.Error, "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", l.Handler, l.ID, l.Order, stamp(l.FailedAt), l.Attempts+l.Redrives, first)
	}

	return w.Flush()
}

func deadLettersShow(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "show HANDLER LETTER", Short: "Show a dead letter", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				h, err := handlerNamed(b, args[0])
				if err != nil {
					return err
				}

				l, err := deadLetters(b).Get(c.Context(), h.Name, args[1])
				if err != nil {
					return err
				}

				return printLetter(c.OutOrStdout(), s.json, letterOf(l))
			})
		},
	}
}

func printLetter(out io.Writer, asJSON bool, l letter) error {
	if asJSON {
		return printJSON(out, l)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "handler\t%s\nletter\t%s\norder\t%s\nchange\t%s\nfailed\t%s\nattempts\t%d, redriven %d times\npermanent\t%t\nerror\t%s\n",
		l.Handler, l.ID, l.Order, l.Change, stamp(l.FailedAt), l.Attempts, l.Redrives, l.Permanent, l.Error)

	return w.Flush()
}

func deadLettersRedrive(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "redrive HANDLER LETTER", Short: "Hand a dead letter to its handler again", Args: cobra.ExactArgs(2),
		Long: "Shows the letter. With --write its change is handed to the handler once more, in this process\n" +
			"with this configuration: when the handler has done its part the letter is deleted, else it\n" +
			"stays, with the new error.\n\n" + deadLettersHelp,
	}
	write := c.Flags().Bool("write", false, "do it; else the letter is only shown")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			h, err := handlerNamed(b, args[0])
			if err != nil {
				return err
			}

			l, err := deadLetters(b).Get(c.Context(), h.Name, args[1])
			switch {
			case err != nil:
				return err
			case !*write:
				fmt.Fprintln(c.ErrOrStderr(), "nothing was done: say --write to redrive it")
				return printLetter(c.OutOrStdout(), s.json, letterOf(l))
			}

			err = deadLetters(b).Redrive(c.Context(), l.ID, h, nil)
			switch {
			case errors.Is(err, streams.ErrDeadLetterNotFound), errors.Is(err, streams.ErrRedriving):
				return err
			case err != nil:
				return &statusError{exitRefused, err}
			case s.json:
				return printJSON(c.OutOrStdout(), map[string]string{"handler": h.Name, "id": l.ID, "status": "handled"})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "handled: %s of order %s; the letter is gone\n", h.Name, letterOf(l).Order)

			return err
		})
	}

	return c
}
