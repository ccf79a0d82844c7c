package orders

import (
	"context"
	"fmt"
	"time"

	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/erasure"
	"ratchet/transitions"
)

// endedBefore erases the owner's orders that ended before the moment and have not been erased yet.
func (r *eraseRun) endedBefore(ctx context.Context, owner string, before time.Time) error {
	ended := erasure.Ended{
		Orders: r.backend.Orders, Lists: r.backend.Lists, Read: r.reads,
		Scans: func() {
			fmt.Fprintln(r.command.ErrOrStderr(), "there are no lists of orders (setting order-lists): scanning the table")
		},
	}

	found := false

	err := ended.Before(ctx, owner, before, func(order *transitions.Order, err error) error {
		found = true
		return r.found(ctx, order, err)
	})

	if err == nil && !found {
		// An empty answer needs words: it is the normal result of a daily run.
		_, err = fmt.Fprintf(r.command.ErrOrStderr(), "every order of this tenant that ended before %s is erased\n", terminal.Stamp(before))
	}

	return err
}
