package money

import (
	"bufio"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/actions"
	"ratchet/server"
)

const actionsHelp = `One-time actions: magic links, coupons, tickets, approvals.

An ID of - is read from standard input, so that the list of processes does not show it.
A PIN is never an argument: --pin asks for it (on a terminal without echo, else it is the
next line of standard input), --pin-file reads it from a file, --pin-env from the
environment variable of that name.

Ids are signed with the keys in the data directory, or with the setting action-keys
(RATCHET_ACTION_KEYS; ` + "`ratchet actions key`" + ` makes one).`

func actionsCommand(s *settings.Settings) *cobra.Command {
	a := &actionSettings{Settings: s}
	all := s.PrintsJSON(actionsCreate(a), actionsGet(a), actionsConsume(a), actionsReserve(a), actionsRelease(a), actionsCancel(a), actionsBulk(a))
	for _, c := range all {
		s.Takes(c, settings.TargetFlags)
	}

	c := settings.Group("actions", "Create and use one-time actions: magic links, coupons, tickets, approvals", append(all, actionsKey())...)
	c.Long = actionsHelp
	c.PersistentFlags().StringVar(&a.tenant, "tenant", "", "tenant of the actions")

	return c
}

// actionSettings are the settings that the commands on actions share.
type actionSettings struct {
	*settings.Settings
	tenant string
	input  *bufio.Reader
}

// with runs fn on the tenant's actions.
func (a *actionSettings) with(c *cobra.Command, fn func(*actions.Actions) error) error {
	return a.Settings.With(c.Context(), func(b *server.Backend) error {
		all := b.Actions
		if a.tenant != "" {
			var err error
			if all, err = all.For(a.tenant); err != nil {
				return err
			}
		}

		return fn(all)
	})
}

// line reads one line of standard input, without its end.
func (a *actionSettings) line(c *cobra.Command) (string, error) {
	if a.input == nil {
		// One reader for all lines: a second one would miss the bytes that the first has buffered. Ids and
		// PINs are short.
		a.input = bufio.NewReader(io.LimitReader(c.InOrStdin(), 1<<10))
	}

	text, err := a.input.ReadString('\n')
	// The last line may have no line feed.
	if text == "" && err != nil {
		return "", exit.UsageError("standard input: a line was expected: %w", err)
	}

	return strings.TrimRight(text, "\r\n"), nil
}

// id returns the action's id: the command's argument, or for - a line of standard input.
func (a *actionSettings) id(c *cobra.Command, argument string) (actions.ID, error) {
	if argument != "-" {
		return actions.ID(argument), nil
	}
	text, err := a.line(c)

	return actions.ID(text), err
}
