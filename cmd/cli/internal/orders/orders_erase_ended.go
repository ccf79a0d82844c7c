package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/transitions"
	"ratchet/workflow"
)

// endedBefore erases the owner's orders that ended before the moment and have not been erased yet.
func (r *eraseRun) endedBefore(ctx context.Context, owner string, before time.Time) error {
	ready := false
	// The lists are an index by state and time; a scan reads every order.
	if r.backend.Lists != nil {
		var err error
		if ready, err = r.backend.Lists.Ready(ctx); err != nil {
			return err
		}
	}

	found := false
	erase := func(order *transitions.Order, err error) error {
		found = true
		return r.found(ctx, order, err)
	}

	var err error
	if ready {
		err = r.endedInLists(ctx, owner, before, erase)
	} else {
		fmt.Fprintln(r.command.ErrOrStderr(), "there are no lists of orders (setting order-lists): scanning the table")
		err = r.endedInTable(ctx, owner, before, erase)
	}

	if err == nil && !found {
		// An empty answer needs words: it is the normal result of a daily run.
		_, err = fmt.Fprintf(r.command.ErrOrStderr(), "every order of this tenant that ended before %s is erased\n", terminal.Stamp(before))
	}

	return err
}

// endedInLists finds the orders in the lists of the states in which orders end.
func (r *eraseRun) endedInLists(ctx context.Context, owner string, before time.Time, erase func(*transitions.Order, error) error) error {
	for _, s := range r.backend.Orders.Definition().States() {
		if !s.Terminal {
			continue
		}

		if err := r.endedInList(ctx, owner, s.State, before, erase); err != nil {
			return err
		}
	}

	return nil
}

// endedInList erases the orders that ended in the state.
func (r *eraseRun) endedInList(ctx context.Context, owner string, state workflow.State, before time.Time, erase func(*transitions.Order, error) error) error {
	for id, err := range r.backend.Lists.Unerased(ctx, owner, state, before) {
		if err != nil {
			return err
		}

		// Read again: the list lags behind its orders.
		order, exists, err := r.backend.Orders.Get(ctx, id)
		r.read++
		r.show()

		switch {
		case err != nil:
			// Reported like any other order that cannot be read.
			err = erase(&transitions.Order{ID: id}, err)
		// The list may lack the mark of an erased order, or show an order that was deleted and
		// placed again.
		case exists && order.State == state && isUnerased(order, before):
			err = erase(order, nil)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// endedInTable finds the orders in their table.
func (r *eraseRun) endedInTable(ctx context.Context, owner string, before time.Time, erase func(*transitions.Order, error) error) error {
	// Erased orders are filtered by the table, which still reads them.
	filter := "attribute_not_exists(erasedAt)"
	in := dynamodb.ScanInput{FilterExpression: &filter}
	definition := r.backend.Orders.Definition()

	sweep := transitions.Sweep{Segments: 1, Progress: r.reads}

	return r.backend.Orders.Scan(ctx, sweep, in, func(_ context.Context, order *transitions.Order, err error) error {
		switch {
		// An order that cannot be read still has its state, so the state is checked first.
		case !isOwnedBy(owner, order.ID), !definition.Terminal(order.State):
			return nil
		case err == nil && !isUnerased(order, before):
			return nil
		}

		return erase(order, err)
	})
}

// isUnerased reports whether the order, which has ended, ended before the moment and still has its
// person.
func isUnerased(order *transitions.Order, before time.Time) bool {
	return order.ErasedAt.IsZero() && order.EnteredAt().Before(before)
}
