package server

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/worker"
	"ratchet/streams"
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
		if last, removed, err := b.Orders.Mapping().Removed(record.Old, record.New); err != nil {
			return streams.Permanent(err)
		} else if removed {
			return b.Lists.Remove(ctx, last)
		}

		change, grew, err := b.Orders.Mapping().FromRecord(record.Old, record.New)
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

const (
	// missedEvery is how often a worker without lists notes that it handles changes that they do not get.
	missedEvery = time.Minute
	// missedFor is for how long it notes that. It may end at any moment, and its next note may be late.
	missedFor = missedEvery + 30*time.Second
)

// noteMissed runs in workers without lists. If there are lists of another worker, or of a time when this one
// kept them, they lack the changes that this worker handles: they are not ready until they are rebuilt
// without such a worker.
func (b *Backend) noteMissed(ctx context.Context) error {
	kept, err := b.newLists()
	if err != nil {
		return err
	}

	// Without a table there are no lists yet. They may come while this worker runs.
	for ; ctx.Err() == nil; worker.Wait(ctx, missedEvery) {
		err := kept.Missed(ctx, time.Now().Add(missedFor))

		var noTable *types.ResourceNotFoundException
		if err != nil && !errors.As(err, &noTable) && ctx.Err() == nil {
			b.log.WarnContext(ctx, "the lists of orders may lack changes that this worker handles without them; rebuild them before they are used again", "error", err)
		}
	}

	return nil
}

// rebuildAgain is how long the worker waits between two looks whether the lists are ready.
const rebuildAgain = time.Minute

// rebuildLists makes lists that are not ready show the orders as they are, also after a gap of the stream.
// Without lists it notes what they miss. It returns an error only if the lists cannot be read at the start,
// for example because their table is missing. A failed rebuild is repeated; until it succeeds, listing
// orders scans the orders' table.
func (b *Backend) rebuildLists(ctx context.Context) error {
	if b.Lists == nil {
		return b.noteMissed(ctx)
	}

	if _, err := b.Lists.Ready(ctx); err != nil && ctx.Err() == nil {
		return err
	}

	var noted time.Time // the newest gap that the lists have heard of
	for ; ctx.Err() == nil; worker.Wait(ctx, rebuildAgain) {
		// The lists have not got the records that were lost. The worker that noticed it may have ended since.
		gap, err := b.StreamInspector().LastGap(ctx)
		if err == nil && gap.After(noted) {
			if err = b.Lists.Missed(ctx, gap); err == nil {
				noted = gap
			}
		}

		// Another worker may rebuild at the same time: the rows have the same keys and content.
		if err = errors.Join(err, b.rebuildUnready(ctx)); err != nil && ctx.Err() == nil {
			b.log.ErrorContext(ctx, "the lists of orders are not ready", "error", err)
		}
	}

	return nil
}

// rebuildUnready rebuilds the lists if they are not ready.
func (b *Backend) rebuildUnready(ctx context.Context) error {
	ready, err := b.Lists.Ready(ctx)
	if ready || err != nil {
		return err
	}

	found, err := b.Lists.Rebuild(ctx, nil)
	if err == nil {
		b.log.InfoContext(ctx, "the lists of orders are ready", "orders", found.Orders,
			"corrected", found.Corrected, "gone", found.Gone, "rows", found.Rows, "unreadable", found.Unreadable)
	}

	return err
}
