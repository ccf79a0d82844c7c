package orders

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

const executionsRepairHelp = `Without an argument, lists the orders that nothing brings on, with the cause, since when, and
the commands that help: executions that failed or ended too early, orders without an
execution, waits that last longer than their deadlines (14 days, and 30 for the delivery),
parcels that the carrier has lost, reactions that became dead letters, and executions that failed
before their orders existed. It reads every order.

With orders, brings each one on: the execution is redriven where Step Functions allows it,
else a successor is started, which adopts the order where it is. --successor starts one in
any case: use it where the state machine itself was wrong, because a redrive keeps the
definition with which an execution was started.`

func executionsRepair(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "repair [ORDER...]", Short: "List the orders that are stuck, or bring orders on", Long: executionsRepairHelp,
		Example: "  ratchet executions repair\n" +
			"  ratchet executions repair o-1\n" +
			"  ratchet executions repair o-1 --successor",
	}
	filter := surveyFlags(c)
	successor := c.Flags().Bool("successor", false, "start a successor also where a redrive is possible")
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := filter(args)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if len(args) > 0 {
				return repairAll(c, s, b, f.Orders, *successor)
			}

			return listStuck(c, s, b, f)
		})
	}

	return s.Long(c, "looking at orders")
}

// repaired is a line of the output.
type repaired struct {
	Order     transitions.OrderID `json:"orderId"`
	Result    string              `json:"result"`
	Execution string              `json:"execution,omitempty"`
	Reason    string              `json:"reason,omitempty"`
}

// repairAll repairs each of the orders. If one cannot be repaired, the others are repaired all the
// same.
func repairAll(c *cobra.Command, s *settings.Settings, b *server.Backend, orders []transitions.OrderID, successor bool) error {
	var refused error

	for _, id := range orders {
		action, x, err := b.Executions.Repair(c.Context(), id, successor)
		line := repaired{Order: id, Result: string(action), Execution: x.Name}

		if err != nil {
			// The last error decides the exit status; each one is printed with its order.
			line.Result, line.Reason, refused = "not repaired", err.Error(), err
		}

		if s.JSON {
			err = terminal.PrintJSON(c.OutOrStdout(), line)
		} else {
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s %s\n", id, line.Result, terminal.OrDash(line.Execution+line.reasonText()))
		}

		if err != nil {
			return err
		}
	}

	switch {
	case refused == nil:
		return nil
	// An order that does not exist has an exit status of its own.
	case errors.Is(refused, transitions.ErrUnknownOrder):
		return refused
	}

	return exit.With(exit.Refused, nil)
}

func (r repaired) reasonText() string {
	if r.Reason == "" {
		return ""
	}

	return ": " + r.Reason
}

// listStuck prints the orders that need a person.
func listStuck(c *cobra.Command, s *settings.Settings, b *server.Backend, f executions.Filter) error {
	found := 0
	show := func(p executions.Problem) error {
		found++
		return printProblem(c, s.JSON, p)
	}

	err := b.Executions.Survey(c.Context(), time.Now(), f, show, s.Progress.Orders("looked at"))
	if err != nil {
		return err
	}

	// Dead letters have no error name of Step Functions.
	if f.Error == "" {
		if err := eachDeadLetter(c, b, f, show); err != nil {
			return err
		}
	}

	if found > 0 {
		return exit.With(exit.Failure, nil)
	}

	if !s.JSON {
		fmt.Fprintln(c.OutOrStdout(), "no order is stuck")
	}

	return nil
}

// eachDeadLetter calls show for every dead letter in the filter's time.
func eachDeadLetter(c *cobra.Command, b *server.Backend, f executions.Filter, show func(executions.Problem) error) error {
	filter, off := deadletters.Filter{Since: f.Since, Before: f.Until}, b.OffHandlers()

	for _, handler := range b.EveryHandlerName() {
		verb, flag := "redrive", ""
		if setting := off[handler]; setting != "" {
			verb, flag = "get", " --"+setting // redriven letters would wait: no worker may have the handler
		}

		for l, err := range b.DeadLetters().All(c.Context(), handler, filter) {
			if err != nil {
				return err
			}

			p := executions.Problem{
				OrderID:  transitions.OrderID(views.ToPrinted(b.Orders.Mapping(), l).Order),
				Kind:     "dead letter",
				Since:    l.FailedAt,
				Cause:    "handler " + l.Handler + ": " + l.Error,
				Commands: []string{"ratchet deadletters " + verb + " " + handler + " " + l.ID + flag},
			}
			if err := show(p); err != nil {
				return err
			}
		}
	}

	return nil
}

func printProblem(c *cobra.Command, asJSON bool, p executions.Problem) error {
	out := c.OutOrStdout()
	if asJSON {
		return terminal.PrintJSON(out, p)
	}

	fmt.Fprintf(out, "order %s  %s  %s since %s\n    %s\n", p.Ref(), terminal.OrDash(string(p.State)), p.Kind, terminal.StampOf(p.Since), p.Cause)

	for _, command := range p.Commands {
		if _, err := fmt.Fprintf(out, "    try: %s\n", command); err != nil {
			return err
		}
	}

	return nil
}
