package server

import (
	"context"
	"time"

	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/transitions/lists"
)

// listsHandler is the name of the handler that writes the lists of orders.
const listsHandler = "lists"

// assembleLists builds the lists of orders, if the configuration asks for them.
func (b *Backend) assembleLists() (err error) {
	if !b.Config.OrderLists {
		return nil
	}

	b.Lists, err = b.newLists()

	return err
}

func (b *Backend) newLists() (*lists.Lists, error) {
	return lists.New(lists.Config{DynamoDB: b.DynamoDB, Table: b.Tables.OrderLists, Orders: b.Orders})
}

// listHandlers returns the handler that writes the lists. It retries without end, because a
// change that is missing in the lists stays missing.
func (b *Backend) listHandlers() []streams.Handler {
	if b.Lists == nil {
		return nil
	}

	handle := func(ctx context.Context, record streams.Record) error {
		// Checked first: the removal of an order is no transition, so FromRecord would ignore it.
		if last, removed, err := transitions.Removed(record.Old, record.New); err != nil {
			return streams.Permanent(err)
		} else if removed {
			return b.Lists.Remove(ctx, last)
		}

		change, grew, err := transitions.FromRecord(record.Old, record.New)
		switch {
		case err != nil:
			return streams.Permanent(err) // a retry reads the same images
		case !grew:
			return nil
		}

		return b.Lists.Record(ctx, change)
	}

	return []streams.Handler{{Name: listsHandler, Handle: handle, Attempts: -1}}
}

// rebuildAgain is how long the worker waits after a failed rebuild of the lists.
const rebuildAgain = time.Minute

// rebuildLists adds the orders that are older than the lists, once. It returns an error only if the
// lists cannot be read, for example because their table is missing. A failed rebuild is repeated; until
// it succeeds, listing orders scans the orders' table.
func (b *Backend) rebuildLists(ctx context.Context) error {
	if b.Lists == nil {
		return nil
	}

	ready, err := b.Lists.Ready(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}

	// Another worker may rebuild at the same time: the rows have the same keys and content.
	for !ready && ctx.Err() == nil {
		orders, err := b.Lists.Rebuild(ctx, transitions.Sweep{})
		if err == nil {
			b.log.InfoContext(ctx, "the lists of orders are ready", "orders", orders)
			return nil
		}

		if ctx.Err() == nil {
			b.log.ErrorContext(ctx, "the lists of orders are not ready", "error", err)
		}

		select {
		case <-ctx.Done():
		case <-time.After(rebuildAgain):
		}
	}

	return nil
}
