package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

const deadLettersHelp = `Dead letters: changes of orders that a handler gave up on, with the error of its last
attempt. The content of the order (lines, addresses, notes) is not shown. They are kept for
21 days.`

func deadLettersCommand(s *settings) *cobra.Command {
	c := group("deadletters", "List changes that a handler gave up on, redrive and discard them",
		deadLettersList(s), deadLettersShow(s), deadLettersRedrive(s), deadLettersDiscard(s))
	c.Long = deadLettersHelp

	return c
}

// printedDeadLetter is a dead letter as it is printed, without the images of the order.
type printedDeadLetter struct {
	Handler   string    `json:"handler"`
	ID        string    `json:"id"`
	Order     string    `json:"orderId,omitempty"`
	Change    string    `json:"change,omitempty"`
	Error     string    `json:"error"`
	Permanent bool      `json:"permanent"`
	Attempts  int       `json:"attempts"`
	Redrives  int       `json:"redrives"`
	FailedAt  time.Time `json:"failedAt"`
	QueuedAt  time.Time `json:"queuedAt,omitzero"`
	// Unreadable says why the change cannot be decoded.
	Unreadable string `json:"unreadable,omitempty"`
}

func toPrinted(m transitions.Mapping, l deadletters.Letter) printedDeadLetter {
	shown := printedDeadLetter{
		Handler:    l.Handler,
		ID:         l.ID,
		Error:      l.Error,
		Permanent:  l.Permanent,
		Attempts:   l.Attempts,
		Redrives:   l.Redrives,
		FailedAt:   l.FailedAt,
		QueuedAt:   l.QueuedAt,
		Unreadable: l.Unreadable,
	}
	// A dead letter that cannot be decoded has no record.
	if l.Record != nil {
		shown.Change = string(l.Record.EventName)
	}

	shown.Order = orderOf(m, l.Keys)

	return shown
}

// handlerNamed returns the handler with the name. Its error lists all names.
func handlerNamed(b *server.Backend, name string) (streams.Handler, error) {
	all := b.Handlers()
	if i := slices.IndexFunc(all, func(h streams.Handler) bool { return h.Name == name }); i >= 0 {
		return all[i], nil
	}

	// A handler that is off has dead letters, too; the error names the flag that turns it on.
	if setting, ok := b.OffHandlers()[name]; ok {
		return streams.Handler{}, usageError("handler %q: only with --%s", name, setting)
	}

	return streams.Handler{}, usageError("handler %q: one of %s", name, strings.Join(b.HandlerNames(), ", "))
}

func printDeadLetter(out io.Writer, asJSON bool, l printedDeadLetter) error {
	if asJSON {
		return printJSON(out, l)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "handler\t%s\nletter\t%s\norder\t%s\nchange\t%s\nfailed\t%s\nattempts\t%d, redriven %s\npermanent\t%t\nerror\t%s\n",
		l.Handler, l.ID, l.Order, l.Change, stamp(l.FailedAt), l.Attempts, plural.Of(l.Redrives, "time"), l.Permanent, l.Error)

	if !l.QueuedAt.IsZero() {
		fmt.Fprintf(w, "queued\t%s, to be redriven by the workers\n", stamp(l.QueuedAt))
	}

	if l.Unreadable != "" {
		fmt.Fprintf(w, "unreadable\t%s\n", l.Unreadable)
	}

	return w.Flush()
}
