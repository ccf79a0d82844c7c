package main

import (
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

func printLetter(out io.Writer, asJSON bool, l letter) error {
	if asJSON {
		return printJSON(out, l)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "handler\t%s\nletter\t%s\norder\t%s\nchange\t%s\nfailed\t%s\nattempts\t%d, redriven %d times\npermanent\t%t\nerror\t%s\n",
		l.Handler, l.ID, l.Order, l.Change, stamp(l.FailedAt), l.Attempts, l.Redrives, l.Permanent, l.Error)

	return w.Flush()
}
