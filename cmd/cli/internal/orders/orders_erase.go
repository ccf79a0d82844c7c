package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/erasure"
	"ratchet/server"
	"ratchet/transitions"
)

const eraseHelp = `Removes what may tell whose an order is, from the order and from everything that is stored about
it: customer, reference, addresses, metadata, notes, and who asked for its transitions and why; from
its journal, deliveries, dead letters, refusals, reports of the carrier and lists. State, transitions,
lines, amounts and payments stay. Nothing brings the person back.

With --customer the orders are those of a customer of one tenant. This scans the table of orders, and
stores their ids in jobs of at most 1,000, without the customer: a job is kept for longer than the
person may be known. With --ended-before they are those of one tenant that have ended before a time, or before a duration
ago: run it every day, for each tenant. The end is when the order came into a state that no event
leaves. They come from the lists of orders (setting order-lists), or from a scan.

A job erases what the flags select: a worker runs it, or without workers this command. Ctrl-C pauses it;
` + "`ratchet jobs resume`" + ` goes on. Orders that are named are erased by this command itself, because they may be
those of several tenants.

An order is refused, with the reason, if it has not ended, cannot be read, has moved in the last minutes,
or if a handler, the journal or a report of the carrier is behind. Repeat the command for those.
--dry-run only shows which orders would be erased or refused.

A dead letter that cannot be read may name the person. Its order is refused with the handler and the id
of the letter: repeat the command after ` + "`ratchet deadletters discard HANDLER LETTER`" + `.

docs/operate/privacy.md lists what this command cannot reach, like histories of executions and backups, and
for how long that is kept.`

func ordersErase(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "erase [ORDER...]", Short: "Remove a person from orders that have ended",
		Long: eraseHelp,
	}
	customer := c.Flags().String("customer", "", "all orders of this customer")
	endedBefore := c.Flags().String("ended-before", "", "all orders that have ended before a time, or before a duration ago like 400d")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "with --customer and --ended-before: the tenant whose orders they are")
	dryRun := c.Flags().Bool("dry-run", false, "only show what would be done")
	job := jobrun.AddFlags(c)

	c.RunE = func(c *cobra.Command, args []string) error {
		before, err := checkErasure(c, args, *customer, *endedBefore, *tenant)
		if err := errors.Join(err, job.Check()); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			eraser, err := b.Eraser()
			if err != nil {
				return err
			}

			run := eraseRun{command: c, asJSON: s.JSON, dryRun: *dryRun, backend: b, eraser: eraser, progress: s.Progress}
			switch {
			case *customer != "":
				err = run.ofCustomer(c.Context(), s, job, arguments.OwnerOf(*tenant), *customer)
			case *endedBefore != "" && !*dryRun:
				err = run.byJob(c.Context(), s, job, arguments.OwnerOf(*tenant), before)
			case *endedBefore != "":
				err = run.endedBefore(c.Context(), arguments.OwnerOf(*tenant), before)
			default:
				err = run.named(c.Context(), args)
			}

			return errors.Join(err, run.worst)
		})
	}

	return s.Takes(s.Long(c, "looking for the orders"), settings.FreshFlags)
}

// checkErasure reports arguments that break a rule or do not fit together. It returns the time of
// --ended-before, the zero time if the flag is not given.
func checkErasure(c *cobra.Command, ids []string, customer, endedBefore, tenant string) (time.Time, error) {
	if err := arguments.Given(c.Flags(), "customer", "ended-before", "tenant"); err != nil {
		return time.Time{}, err
	}

	selections := 0
	for _, selects := range []bool{len(ids) > 0, customer != "", endedBefore != ""} {
		if selects {
			selections++
		}
	}

	switch {
	case selections != 1:
		return time.Time{}, exit.UsageError("name orders, or a customer with --customer, or an age with --ended-before: one of the three")
	case len(ids) > 0 && c.Flags().Changed("tenant"):
		return time.Time{}, exit.UsageError("tenant: only with --customer or --ended-before; the id of a tenant's order begins with its name and a colon")
	case customer != "":
		if err := transitions.CheckCustomer(customer); err != nil {
			return time.Time{}, exit.UsageError("%v", err)
		}
	}

	// For a name that no tenant can have, the command would answer that all its orders are erased.
	if err := auth.Tenant(tenant).Validate(); err != nil {
		return time.Time{}, exit.UsageError("%v", err)
	}

	return arguments.PointInTime("ended-before", endedBefore)
}

// eraseRun is one run of the command.
type eraseRun struct {
	command  *cobra.Command
	asJSON   bool
	dryRun   bool
	backend  *server.Backend
	eraser   *erasure.Eraser
	progress *terminal.Progress

	read, erased int
	worst        error // the error of an order that was not erased
}

// named erases the orders with the ids.
func (r *eraseRun) named(ctx context.Context, ids []string) error {
	for _, id := range ids {
		order, found, err := r.backend.Orders.Get(ctx, transitions.OrderID(id))
		if err == nil && !found {
			// An order that does not exist does not keep the others from being erased.
			r.worst = fmt.Errorf("order %s: %w", id, exit.ErrNotFound)
			continue
		}

		// An order that cannot be read is reported with its id.
		if err != nil {
			order = &transitions.Order{ID: transitions.OrderID(id)}
		}

		if err := r.found(ctx, order, err); err != nil {
			return err
		}
	}

	return nil
}

// found erases an order that matches, or reports why it cannot be read.
func (r *eraseRun) found(ctx context.Context, order *transitions.Order, err error) error {
	if err != nil {
		return r.answer(erasedOrder{Erased: erasure.Erased{OrderID: order.ID}}, err)
	}

	return r.one(ctx, order)
}

// erasedOrder is the output line of an order.
type erasedOrder struct {
	erasure.Erased

	// Result is "erased", "refused", or in a dry run "selected".
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// one erases an order and prints the result. It returns only errors that end the command.
func (r *eraseRun) one(ctx context.Context, order *transitions.Order) error {
	line := erasedOrder{Erased: erasure.Erased{OrderID: order.ID}, Result: "selected"}

	var err error
	if r.dryRun {
		// A dry run makes the same checks as the erasure, but the erasure decides by its own write.
		err = r.eraser.Check(ctx, order)
	} else {
		line.Erased, err = r.eraser.Erase(ctx, order.ID)
		line.Result = "erased"
	}

	return r.answer(line, err)
}

// answer prints the result for an order, or why it keeps its person. It returns only errors that
// end the command.
func (r *eraseRun) answer(line erasedOrder, err error) error {
	switch {
	// Any other error concerns more than this order, such as a table that cannot be read.
	case err != nil && !erasure.Keeps(err):
		return err
	case err != nil:
		line.Result, line.Reason = "refused", err.Error()
		r.worst = exit.With(exit.Refused, nil)
	default:
		r.erased++
	}
	r.show()

	if r.asJSON {
		return terminal.PrintJSON(r.command.OutOrStdout(), line)
	}

	text := line.Result + ": order " + string(line.OrderID)
	if line.Reason != "" {
		text = line.Result + ": " + line.Reason
	}
	_, err = fmt.Fprintln(r.command.OutOrStdout(), text)

	return err
}

// reads notes the number of orders that the command has read.
func (r *eraseRun) reads(orders int) {
	r.read = orders
	r.show()
}

// show prints the progress of the command.
func (r *eraseRun) show() {
	// With named orders nothing is scanned, so only the results count.
	if r.read == 0 {
		r.progress.Print("%s done", plural.Of(r.erased, "order"))
		return
	}

	r.progress.Print("%s read, %d done", plural.Of(r.read, "order"), r.erased)
}
