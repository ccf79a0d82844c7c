package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// RetryQueue puts records into the retry queues of a table's handlers, where the workers deliver
// them. All fields up to LeaseTable must be set.
//
// The added records of one item are delivered in the order in which they were added, marked as
// Late, and before the item's records that are in the queue already. All workers know of the
// addition within a third of Config.LeaseDuration, at most 5 s; from then on the item's newer
// records wait behind the added ones. The workers begin to deliver after twice that time. Newer
// records that were handled before are not repeated. A call for a newer record that runs for longer
// than that may overlap with the first call for an added record.
type RetryQueue struct {
	DynamoDB        dynamoAPI
	TableName       string
	DeadLetterTable string
	LeaseTable      string
	Group           string // as Config.Group
}

func (q RetryQueue) rows() *retryTable {
	return &retryTable{api: q.DynamoDB, table: q.DeadLetterTable, scope: groupKey(q.Group, q.TableName)}
}

func (q RetryQueue) leases() *leaseTable {
	return &leaseTable{api: q.DynamoDB, table: q.LeaseTable, stream: retrySourcePrefix + groupKey(q.Group, q.TableName)}
}

func (q RetryQueue) letters() DeadLetters {
	return DeadLetters{DynamoDB: q.DynamoDB, Table: q.DeadLetterTable, Group: q.Group}
}

// rowFullPause is the pause before the next try to add replays to a full row.
const rowFullPause = time.Second

// feed adds records of one item for one handler, oldest first. It waits while the item's row
// is full.
func (q RetryQueue) feed(ctx context.Context, records []Record) error {
	table, handler := q.rows(), records[0].Handler
	hash := hashLane(itemKey(records[0]))

	// The records are stored once, and the item's row gets only references to them. So a retry
	// after a full row stores no second copy.
	waiting, err := table.storeRecords(ctx, hash, records)
	if err != nil {
		return err
	}

	for len(waiting) > 0 {
		some := waiting[:min(len(waiting), maxAddition)]

		err := table.addReplays(ctx, handler, hash, records[0].Keys, some)
		if err == nil {
			waiting = waiting[len(some):]
			continue
		}

		if !errors.Is(err, errRowFull) {
			return err
		}

		if err := q.waitForRow(ctx); err != nil {
			return err
		}
	}

	return nil
}

// waitForRow waits before the next try to add to a full row. It tells the workers of the additions,
// because they make room by delivering.
func (q RetryQueue) waitForRow(ctx context.Context) error {
	if err := noteAddition(ctx, q.leases()); err != nil {
		return err
	}

	if !worker.Wait(ctx, rowFullPause) {
		return ctx.Err()
	}

	return nil
}

// waitForRoom waits until fewer than most items are in the handler's queue. It calls waiting before
// each pause.
func (q RetryQueue) waitForRoom(ctx context.Context, handler string, most int, waiting func()) error {
	for {
		items, err := q.rows().countRows(ctx, handler)
		if err != nil || items < most {
			return err
		}
		waiting()

		if !worker.Wait(ctx, rowFullPause) {
			return fmt.Errorf("streams: replay: %d items wait for handler %s: %w", items, handler, ctx.Err())
		}
	}
}

// redriveAgainAfter is how long after it was put into the queue a dead letter may be put there
// again. If the first entry was handled by then, the second one does nothing.
const redriveAgainAfter = time.Hour

// Redrive puts the record of a dead letter into the retry queue. The workers call the handler as
// its Retry says. If a call succeeds, they delete the dead letter. If the handler gives the record
// up again or skips it, the dead letter stays, with the new error. Redrive returns
// ErrDeadLetterNotFound if there is no such dead letter, and ErrRedriving if the dead letter was
// put into the queue less than an hour ago and has stayed there.
func (q RetryQueue) Redrive(ctx context.Context, handler, id string) error {
	if err := q.redrive(ctx, handler, id); err != nil {
		return err
	}

	return noteAddition(ctx, q.leases())
}

func (q RetryQueue) redrive(ctx context.Context, handler, id string) error {
	letter, err := q.letters().Get(ctx, handler, id)
	if err != nil {
		return err
	}

	if table, _ := splitStreamARN(letter.Record.StreamARN); table != q.TableName {
		return fmt.Errorf("streams: dead letter %s is about table %s, not %s", id, table, q.TableName)
	}

	now := time.Now()
	if !letter.QueuedAt.IsZero() && now.Sub(letter.QueuedAt) < redriveAgainAfter {
		return fmt.Errorf("%w: %s of %s", ErrRedriving, id, handler)
	}

	entry := waitingRecord{
		sequence: letter.Record.SequenceNumber,
		// A new token each time: an item's row may refer to the same dead letter twice.
		parts:      partsRef{token: rand.Text()[:10]},
		deadLetter: id,
	}
	if err := q.rows().addReplays(ctx, handler, hashLane(itemKey(*letter.Record)), letter.Record.Keys, []waitingRecord{entry}); err != nil {
		return err
	}

	// After the entry was added. After a crash in between, the next Redrive adds a second entry,
	// which does no harm.
	update := dynamo.NewUpdate(q.DeadLetterTable, q.letters().rows().key(handler, id)).
		IfPresent(deadLetterID).
		SetValue(deadLetterQueuedAt, dynamo.Millis(now))
	_, _, err = applyUpdate(ctx, q.DynamoDB, update)

	return err
}

// RedriveAll puts the records of the selected dead letters of a handler into the retry queue, in
// the order of their ids, and passes each result to report: nil, or why the dead letter was not put
// into the queue. It returns an error if it cannot read the dead letters or ctx ends.
func (q RetryQueue) RedriveAll(ctx context.Context, handler string, filter DeadLetterFilter, report func(DeadLetter, error)) error {
	queued := 0
	for l, err := range q.letters().All(ctx, handler, filter) {
		if err == nil {
			err = context.Cause(ctx)
		}

		if err != nil {
			return err
		}

		result := q.redrive(ctx, handler, l.ID)
		if result == nil {
			queued++
		}
		report(l, result)
	}

	if queued == 0 {
		return nil
	}

	return noteAddition(ctx, q.leases())
}
