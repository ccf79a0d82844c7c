package redelivery

import (
	"context"
	"errors"
	"fmt"

	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lanes"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// redrive makes one try for the dead letter of the row. If the record is
// handled, the dead letter is deleted. If the handler gives the record up again, the dead letter
// gets the new error. If the handler skips the record, the dead letter gets the reason.
func (i *queuedItem) redrive(ctx context.Context, shard *lanes.Shard, row retryqueue.Row) (_ retryqueue.Row, done bool, err error) {
	q, table := i.queue, i.queue.queues.table
	letters := deadletters.Letters{DynamoDB: table.API, Table: table.Table, Group: q.queues.cfg.Group, Clock: table.Clock, Check: table.Check(row)}

	letter, err := letters.Get(ctx, q.h.Name, row.DeadLetter)
	switch {
	case errors.Is(err, deadletters.ErrNotFound):
		return row, true, nil // redriven or deleted before
	case errors.Is(err, store.ErrNewerFormat):
		return row, false, err
	case letter.Unreadable != "":
		return row, true, letters.StoreFailedRedrive(ctx, *q.h, letter, err)
	case err != nil:
		return row, false, err
	}

	var skipped error
	h := *q.h
	// MaxAge is for records of the stream: a dead letter is always old.
	h.MaxAge = 0
	h.Handle = noteSkip(h.Handle, &skipped)

	if h.Recheck != nil {
		h.Recheck = noteSkip(h.Recheck, &skipped)
	}

	gaveUp := false
	row, done, err = i.handle(ctx, shard, &h, row, *letter.Record, func(ctx context.Context, cause error, attempts int) error {
		if err := letters.StoreFailedRedrive(ctx, h, letter, cause); err != nil {
			return err
		}

		r := *letter.Record
		r.Handler, r.Attempt, gaveUp = h.Name, letter.Attempts+attempts, true
		q.queues.scheduler.NoteDeadLetter(r, cause)

		return nil
	})

	// A context of its own: the lease may have been renewed during the call, which outlasts the
	// first one.
	ctx, cancel := shard.WithinLease()
	defer cancel()

	switch {
	case err != nil || !done || gaveUp:
		return row, done, err
	case skipped != nil:
		return row, true, letters.StoreFailedRedrive(ctx, h, letter, fmt.Errorf("not redriven: %w", skipped))
	}

	return row, true, letters.Delete(ctx, h.Name, letter.ID)
}

// noteSkip returns a handler that stores the error of a skipped record in skipped.
func noteSkip(handle streams.HandlerFunc, skipped *error) streams.HandlerFunc {
	return func(ctx context.Context, r streams.Record) error {
		err := handle(ctx, r)
		if errors.Is(err, streams.ErrSkipped) {
			*skipped = err
		}

		return err
	}
}
