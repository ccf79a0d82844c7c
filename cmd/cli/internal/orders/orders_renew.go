package orders

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
)

const renewHelp = `Gives orders a new incarnation: the effects of their next transitions, and payments that they do not
have yet, get keys that were never used. Run it once after the tables were restored to an earlier time, before the
workers start. What the orders did after that time is forgotten in the tables, but not by the bank and
the carrier: under the old keys they would take what the orders do next for repeats, and answer
"already done". Orders keep their state, their history, the answers to requests made until that time,
their reservation, the payment that the tables have, and the shipments that they booked until then.

Every order takes one conditional write. The command may be stopped and repeated with the same --before:
it leaves out orders whose life began since then.`

type renewReport struct {
	Read    int64     `json:"read"`
	Renewed int64     `json:"renewed"`
	Before  time.Time `json:"before"`
	DryRun  bool      `json:"dryRun,omitempty"`
}

func ordersRenew(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "renew [ORDER...]", Short: "Give orders a new incarnation after tables were restored",
		Long:    renewHelp,
		Example: "  ratchet orders renew --all --dry-run\n  ratchet orders renew --all --before 2026-01-31T12:00:00Z\n  ratchet orders renew o-1",
	}
	all := c.Flags().Bool("all", false, "every order")
	before := c.Flags().String("before", "", "only orders whose life began before then, like 1h or 2026-01-31T12:00:00Z (default: now)")
	dryRun := c.Flags().Bool("dry-run", false, "only count")
	segments := c.Flags().Int("segments", 4, "with --all: parts of the table that are read at the same time, 1 to 64")

	c.RunE = func(c *cobra.Command, args []string) error {
		// Either some orders or all: not both, and not neither.
		if *all == (len(args) > 0) {
			return exit.UsageError("renew needs orders, or --all")
		}

		if *segments < 1 || *segments > 64 {
			return exit.UsageError("segments %d: 1 to 64", *segments)
		}

		limit := time.Now()
		if *before != "" {
			var err error
			if limit, err = arguments.PointInTime("before", *before); err != nil {
				return err
			}
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			r := renewal{orders: b.Orders, before: limit, dryRun: *dryRun}
			err := r.run(c.Context(), args, *segments, s.Progress.Print)

			return r.report(c.OutOrStdout(), s, *all, err)
		})
	}

	return s.Long(c, "renewing orders")
}

// renewal gives orders a new incarnation and counts them.
type renewal struct {
	orders        *transitions.Orders
	before        time.Time
	dryRun        bool
	read, renewed atomic.Int64
}

func (r *renewal) run(ctx context.Context, ids []string, segments int, progress func(string, ...any)) error {
	for _, id := range ids {
		order, found, err := r.orders.Get(ctx, transitions.OrderID(id))
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("%w: order %s", exit.ErrNotFound, id)
		}
		r.read.Add(1)

		if err := r.renew(ctx, order); err != nil {
			return err
		}
	}

	// Orders were named, so the others stay as they are.
	if len(ids) > 0 {
		return nil
	}

	sweep := transitions.Sweep{Segments: segments, Progress: func(n int) {
		progress("%s read, %d renewed", plural.Of(n, "order"), r.renewed.Load())
	}}

	return r.orders.Scan(ctx, sweep, dynamodb.ScanInput{}, func(ctx context.Context, order *transitions.Order, err error) error {
		if err != nil {
			return err
		}
		r.read.Add(1)

		return r.renew(ctx, order)
	})
}

// renew renews the order, unless its life began after the limit. An order that moves meanwhile is read
// again: workers should not run, but callers may.
func (r *renewal) renew(ctx context.Context, order *transitions.Order) error {
	for order.Incarnation.Began().Before(r.before) {
		renewed := r.dryRun
		if !r.dryRun {
			var err error
			if renewed, err = r.orders.Renew(ctx, order); err != nil {
				return err
			}
		}

		if renewed {
			r.renewed.Add(1)
			return nil
		}

		now, found, err := r.orders.Get(ctx, order.ID)
		if err != nil || !found {
			return err
		}
		order = now
	}

	return nil
}

func (r *renewal) report(out io.Writer, s *settings.Settings, all bool, err error) error {
	report := renewReport{Read: r.read.Load(), Renewed: r.renewed.Load(), Before: r.before.UTC(), DryRun: r.dryRun}

	switch {
	case s.JSON:
		if printErr := terminal.PrintJSON(out, report); err == nil {
			err = printErr
		}
	case r.dryRun:
		fmt.Fprintf(out, "%s would be renewed, %d read\n", plural.Of(int(report.Renewed), "order"), report.Read)
	default:
		fmt.Fprintf(out, "%s renewed, %d read\n", plural.Of(int(report.Renewed), "order"), report.Read)
	}

	if err != nil && all && !r.dryRun {
		return fmt.Errorf("%w; to go on: ratchet orders renew --all --before %s", err, report.Before.Format(time.RFC3339Nano))
	}

	return err
}
