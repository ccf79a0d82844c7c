package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/operate/jobs"
	"ratchet/transitions"
)

// ofCustomer erases the owner's orders of a customer. It reads the table, because the lists may lag. The jobs have the ids
// of the orders and not the customer, whom they must not outlive.
func (r *eraseRun) ofCustomer(ctx context.Context, s *settings.Settings, flags *jobrun.Flags, owner, customer string) error {
	var ids []string

	page := inspect.Page{Customer: customer, Progress: r.reads}

	err := inspect.Each(ctx, r.backend.Orders, page, func(order *transitions.Order, err error) error {
		switch {
		case !isOwnedBy(owner, order.ID):
			return nil
		case r.dryRun:
			ids = append(ids, string(order.ID))
			return r.found(ctx, order, err)
		}
		ids = append(ids, string(order.ID))

		return nil
	})

	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		// An erased order has no customer any more, so this is also the answer of a repeat.
		_, err = fmt.Fprintln(r.command.ErrOrStderr(), "no order has this customer of this tenant")
		return err
	case r.dryRun:
		return nil
	}

	return r.byIDs(ctx, s, flags, owner, ids)
}

// byIDs lets jobs erase the orders, one after the other, and prints the result of each order.
func (r *eraseRun) byIDs(ctx context.Context, s *settings.Settings, flags *jobrun.Flags, owner string, ids []string) error {
	for chunk := range slices.Chunk(ids, jobs.MostIDs) {
		j, err := r.job(ctx, s, flags, jobs.New{Kind: jobs.EraseOrders, Tenant: owner, IDs: chunk})
		ids = ids[len(chunk):]

		if err != nil && j.ID != "" && len(ids) > 0 {
			err = exit.With(exit.StatusOf(err), errors.Join(err, fmt.Errorf("%s more of the customer are in no job: repeat the command when this one has ended", plural.Of(len(ids), "order"))))
		}

		if err != nil {
			return err
		}
	}

	return nil
}
