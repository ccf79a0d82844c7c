package orders

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
)

// timedOrder is an order with what time does to it if it stays as it is.
type timedOrder struct {
	*transitions.Order
	Timers []inspect.Timer `json:"timers,omitempty"`
}

func withTimers(b *server.Backend, o *transitions.Order) timedOrder {
	return timedOrder{o, inspect.Timers(b.Orders, o, time.Now())}
}

// describeTimer says what time makes and when, and why it did not.
func describeTimer(t inspect.Timer) string {
	text := fmt.Sprintf("%s (to %s) at %s", t.Event, t.To, terminal.StampOf(t.At))
	if why := cmp.Or(t.Overdue, t.Unmet); why != "" {
		text += ": " + why
	}

	return text
}

// printOrders prints a table of orders. timed: time may move some of them, and the table says when it moves each next.
func printOrders(out io.Writer, orders []timedOrder, timed bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	head := "ORDER\tSTATE\tTRANSITION\tUPDATED"
	if timed {
		head += "\tTIMER"
	}
	fmt.Fprintln(w, head)

	for _, o := range orders {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s", o.ID, o.State, o.TransitionID, terminal.StampOf(o.UpdatedAt))

		if len(o.Timers) > 0 {
			fmt.Fprint(w, "\t", describeTimer(o.Timers[0]))
		}
		fmt.Fprintln(w)
	}

	return w.Flush()
}
