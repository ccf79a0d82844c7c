package operate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/streams"
)

const deadLettersHelp = `Dead letters: changes of orders that a handler gave up on, with the error of its last
attempt. The content of the order (lines, addresses, notes) is not shown. They are kept for
21 days.`

func deadLettersCommand(s *settings.Settings) *cobra.Command {
	c := settings.Group("deadletters", "List changes that a handler gave up on, redrive and discard them",
		deadLettersList(s), deadLettersGet(s), deadLettersRedrive(s), deadLettersDiscard(s))
	c.Long = deadLettersHelp

	return c
}

// handlerNamed returns the handler with the name. Its error lists all names.
func handlerNamed(b *server.Backend, name string) (streams.Handler, error) {
	all := b.Handlers()
	if i := slices.IndexFunc(all, func(h streams.Handler) bool { return h.Name == name }); i >= 0 {
		return all[i], nil
	}

	// A handler that is off has dead letters, too; the error names the flag that turns it on.
	if setting, ok := b.OffHandlers()[name]; ok {
		return streams.Handler{}, exit.UsageError("handler %q: only with --%s", name, setting)
	}

	return streams.Handler{}, exit.UsageError("handler %q: one of %s", name, strings.Join(b.HandlerNames(), ", "))
}

func printDeadLetter(out io.Writer, asJSON bool, l views.PrintedDeadLetter) error {
	if asJSON {
		return terminal.PrintJSON(out, l)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "handler\t%s\nletter\t%s\norder\t%s\nchange\t%s\nfailed\t%s\nattempts\t%d, redriven %s\npermanent\t%t\nerror\t%s\n",
		l.Handler, l.ID, l.Order, l.Change, terminal.Stamp(l.FailedAt), l.Attempts, plural.Of(l.Redrives, "time"), l.Permanent, l.Error)

	if !l.QueuedAt.IsZero() {
		fmt.Fprintf(w, "queued\t%s, to be redriven by the workers\n", terminal.Stamp(l.QueuedAt))
	}

	if l.Unreadable != "" {
		fmt.Fprintf(w, "unreadable\t%s\n", l.Unreadable)
	}

	return w.Flush()
}
