package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/erasure"
	"ratchet/operate/jobs"
	"ratchet/transitions"
)

// byJob lets a job erase the owner's orders that ended before the moment, and prints the result of each.
func (r *eraseRun) byJob(ctx context.Context, s *settings.Settings, flags *jobrun.Flags, owner string, before time.Time) error {
	if r.backend.Lists == nil {
		r.scans()
	}

	// The zero time would be a filter that is missing, and no order has ended before 1970.
	end := before
	if end.Before(time.UnixMilli(1)) {
		end = time.UnixMilli(1)
	}

	j, err := r.job(ctx, s, flags, jobs.New{Kind: jobs.EraseOrders, Tenant: owner, Filter: jobs.Filter{EndedBefore: end}})
	if err == nil && j.Total == 0 {
		r.nothing(before)
	}

	return err
}

// job runs a job, and prints the result of each of its orders.
func (r *eraseRun) job(ctx context.Context, s *settings.Settings, flags *jobrun.Flags, n jobs.New) (jobs.Job, error) {
	j, err := flags.Run(r.command, s, r.backend, n)
	if j.ID == "" {
		return j, err
	}

	// Also after an interrupt: what was erased is erased.
	ctx = context.WithoutCancel(ctx)

	return j, errors.Join(err,
		jobrun.Results(ctx, r.backend, j, "done", func(result jobs.Shown) error {
			return r.answer(erasedOrder{Erased: erasure.Erased{OrderID: transitions.OrderID(result.ID)}, Result: "erased"}, nil)
		}),
		jobrun.Results(ctx, r.backend, j, "", func(result jobs.Shown) error { return r.refused(ctx, result) }),
	)
}

// refused tries an order once more that the job has refused, and prints the result: the job has a code only, and a person
// needs to know why.
func (r *eraseRun) refused(ctx context.Context, result jobs.Shown) error {
	id := transitions.OrderID(result.ID)

	order, found, err := r.backend.Orders.Get(ctx, id)
	if err == nil && !found {
		return nil // it was deleted meanwhile
	}

	if err != nil {
		order = &transitions.Order{ID: id}
	}

	return r.found(ctx, order, err)
}

// scans says that the command takes long.
func (r *eraseRun) scans() {
	fmt.Fprintln(r.command.ErrOrStderr(), "there are no lists of orders (setting order-lists): scanning the table")
}

// nothing says that no order is left. An empty answer needs words: it is the normal result of a daily run.
func (r *eraseRun) nothing(before time.Time) {
	fmt.Fprintf(r.command.ErrOrStderr(), "every order of this tenant that ended before %s is erased\n", terminal.Stamp(before))
}

// endedBefore shows the owner's orders that ended before the moment and have not been erased yet.
func (r *eraseRun) endedBefore(ctx context.Context, owner string, before time.Time) error {
	ended := erasure.Ended{Orders: r.backend.Orders, Lists: r.backend.Lists, Read: r.reads, Scans: r.scans}
	found := false

	err := ended.Before(ctx, owner, before, func(order *transitions.Order, err error) error {
		found = true
		return r.found(ctx, order, err)
	})

	if err == nil && !found {
		r.nothing(before)
	}

	return err
}
