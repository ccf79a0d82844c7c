package retryqueue

import (
	"context"
	"fmt"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// Queue puts records into the retry queues of a table's handlers, where the workers deliver
// them. All fields up to LeaseTable must be set.
//
// The added records of one item are delivered in the order in which they were added, marked as
// Late, and before the item's records that are in the queue already. All workers know of the
// addition within a third of Config.LeaseDuration, at most 5 s; from then on the item's newer
// records wait behind the added ones. The workers begin to deliver after twice that time. Newer
// records that were handled before are not repeated. A call for a newer record that runs for longer
// than that may overlap with the first call for an added record.
type Queue struct {
	DynamoDB        store.API
	TableName       string
	DeadLetterTable string
	LeaseTable      string
	Group           string // as Config.Group
}

// Rows returns the rows of the queue.
func (q Queue) Rows() *Table {
	return &Table{API: q.DynamoDB, Table: q.DeadLetterTable, Scope: store.GroupKey(q.Group, q.TableName)}
}

// Leases returns the rows of the leases of the queues.
func (q Queue) Leases() *leases.Table {
	return &leases.Table{API: q.DynamoDB, Table: q.LeaseTable, Stream: SourcePrefix + store.GroupKey(q.Group, q.TableName)}
}

// Letters returns the dead letters of the same handlers.
func (q Queue) Letters() deadletters.Letters {
	return deadletters.Letters{DynamoDB: q.DynamoDB, Table: q.DeadLetterTable, Group: q.Group}
}

// roomPause is the pause before the next look for room.
const roomPause = time.Second

// Feed adds records of one item for one handler, oldest first.
func (q Queue) Feed(ctx context.Context, records []streams.Record) error {
	for _, r := range records {
		if err := q.Rows().AddAgain(ctx, r); err != nil {
			return err
		}
	}

	return nil
}

// WaitForRoom waits until fewer than most records are in the handler's queue. It calls waiting before
// each pause. A look reads the records that are counted.
func (q Queue) WaitForRoom(ctx context.Context, handler string, most int, waiting func()) error {
	for {
		records, err := q.Rows().countRows(ctx, handler, most)
		if err != nil || records < most {
			return err
		}
		waiting()

		if !worker.Wait(ctx, roomPause) {
			return fmt.Errorf("streams: replay: %d records wait for handler %s: %w", records, handler, ctx.Err())
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
func (q Queue) Redrive(ctx context.Context, handler, id string) error {
	return q.redrive(ctx, handler, id, nil)
}

// RedriveFrom is Redrive of a dead letter that the caller has seen with the number of redrives. It returns ErrChanged, and
// adds nothing, if the letter has another number by now: it was redriven meanwhile, and may have another error.
func (q Queue) RedriveFrom(ctx context.Context, handler, id string, redrives int) error {
	return q.redrive(ctx, handler, id, &redrives)
}

func (q Queue) redrive(ctx context.Context, handler, id string, seen *int) error {
	letter, err := q.Letters().Get(ctx, handler, id)
	if err != nil {
		return err
	}

	var asSeen *ddbtypes.ConditionCheck
	if seen != nil {
		asSeen = q.Letters().Rows().AsSeen(handler, id, *seen)
	}

	if table, _ := store.SplitStreamARN(letter.Record.StreamARN); table != q.TableName {
		return fmt.Errorf("streams: dead letter %s is about table %s, not %s", id, table, q.TableName)
	}

	now := time.Now()
	if !letter.QueuedAt.IsZero() && now.Sub(letter.QueuedAt) < redriveAgainAfter {
		return fmt.Errorf("%w: %s of %s", deadletters.ErrRedriving, id, handler)
	}

	if err := q.Rows().addLetter(ctx, handler, id, *letter.Record, asSeen); err != nil {
		return err
	}

	// After the entry was added. After a crash in between, the next Redrive replaces it.
	if err := q.Letters().NoteQueued(ctx, letter, now); err != nil {
		return err
	}

	return NoteAddition(ctx, q.Leases())
}
