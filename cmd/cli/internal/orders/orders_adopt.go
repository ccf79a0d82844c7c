package orders

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersAdopt(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "adopt [ORDER...]", Short: "Bring in the state that another program has written into orders",
		Long: `Brings in orders whose state another program has changed without a transition. Each gets the next
transitionId with the event "imported", by one write on the condition that the order is as it was read. Nothing
follows, as with ` + "`ratchet orders import`" + `; an execution that waits for the state goes on.

` + "`ratchet verify`" + ` lists such orders as moved, and ` + "`ratchet orders explain`" + ` says so of one. --all looks at every order.`,
		Example: "  ratchet orders adopt o-1\n  ratchet orders adopt --all --dry-run",
	}
	everyone := c.Flags().Bool("all", false, "every order that another program has moved")
	dryRun := c.Flags().Bool("dry-run", false, "only say what would be brought in")
	segments := c.Flags().Int("segments", 4, "with --all: parts of the table that are read at the same time, 1 to 64")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *everyone == (len(args) > 0):
			return exit.UsageError("adopt needs orders, or --all")
		case *segments < 1 || *segments > 64:
			return exit.UsageError("segments %d: 1 to 64", *segments)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			run := newImportRun(c, s, b, *dryRun, false)

			var err error
			if *everyone {
				err = run.moved(c.Context(), *segments)
			} else {
				err = run.named(c.Context(), args)
			}

			return run.finish(err)
		})
	}

	return s.Long(c, "looking at orders")
}

// moved brings in every order that another program has moved.
func (r *importRun) moved(ctx context.Context, segments int) error {
	sweep := transitions.Sweep{Segments: segments, Progress: r.scanned}

	return r.backend.Orders.Scan(ctx, sweep, dynamodb.ScanInput{}, func(ctx context.Context, order *transitions.Order, err error) error {
		if err != nil {
			return nil //nolint:nilerr // `ratchet verify` lists orders that cannot be read
		}

		if _, moved := order.MovedByOther(); !moved {
			return nil
		}

		return r.adopt(ctx, order, nil)
	})
}

// named brings in the orders that are named.
func (r *importRun) named(ctx context.Context, ids []string) error {
	for _, id := range ids {
		order, found, err := r.backend.Orders.Get(ctx, transitions.OrderID(id))
		if err == nil && !found {
			err = fmt.Errorf("order %s: %w", id, exit.ErrNotFound)
		}

		if err != nil {
			return err
		}

		if _, moved := order.MovedByOther(); r.DryRun && !moved && order.TransitionID != 0 {
			err = r.refused(0, order.ID, "the order is where its newest transition has led: there is nothing to bring in")
		} else {
			err = r.adopt(ctx, order, nil)
		}

		if err != nil {
			return err
		}
	}

	return nil
}
