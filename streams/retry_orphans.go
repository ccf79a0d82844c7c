package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// sweepEvery is how often a queue looks for orphans, beside the time when its lease is taken.
const sweepEvery = time.Hour

// An orphan is a row that refers to an item's waiting record, and that no row of the item counts: it
// was deleted with the last record that a worker of an earlier version knew.

// firstRows returns the first rows beside items' rows, after the key, those of one item in their order.
// They are of one item, up to refillRecords. It returns none if there are no more.
func (t *retryTable) firstRows(ctx context.Context, handler string, after dynamo.Item) (hash laneHash, rows []map[string]ddbtypes.AttributeValue, err error) {
	in := t.query(handler, retryMorePrefix)
	in.Limit, in.ExclusiveStartKey = aws.Int32(refillRecords), after

	for {
		out, err := t.api.Query(ctx, in)
		if err != nil {
			return hash, nil, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
		}

		for _, row := range out.Items {
			switch next, ok := parseMoreID(dynamo.Text(row, deadLetterID)); {
			case !ok:
			case len(rows) > 0 && next != hash:
				return hash, rows, nil
			default:
				hash, rows = next, append(rows, row)
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(rows) > 0 || len(out.LastEvaluatedKey) == 0 {
			return hash, rows, nil
		}
	}
}

// adopt puts orphans, of one transaction at most, into the row of their item, before the records that
// wait there, and creates the row if there is none. It reports false if the row has changed or is full.
func (t *retryTable) adopt(ctx context.Context, handler string, hash laneHash, rows []map[string]ddbtypes.AttributeValue) (bool, error) {
	records := make([]waitingRecord, len(rows))
	for i, row := range rows {
		records[i] = decodeWaitingRecord(row[retryRecords], hash)
	}

	body, err := t.parts().read(ctx, t.source(handler), records[0].parts)
	if err != nil {
		return false, err
	}

	first, err := decodeRecord(body)
	if err != nil {
		return false, err
	}
	update := t.replaysUpdate(handler, hash, first.Keys, records, rand.Text()).IfAbsent(retryMore)

	return t.transact(ctx, handler, append(t.deleteParts(rows), ddbtypes.TransactWriteItem{Update: update.Part()}))
}

// adoptOrphansOf adopts the orphans of one item, given its first rows. It returns how many, and the key
// after which the rows of the next item are.
func (t *retryTable) adoptOrphansOf(ctx context.Context, handler string, hash laneHash, rows []map[string]ddbtypes.AttributeValue) (adopted int, next dynamo.Item, err error) {
	next = deadLetterRowKey(t.source(handler), hash.morePrefix()+"~") // sequence numbers are digits

	for of := hash; of == hash && len(rows) > 0; {
		row, _, err := t.get(ctx, handler, hash)
		if err != nil || row.more > 0 {
			return adopted, next, err
		}

		added, err := t.adopt(ctx, handler, hash, rows)
		if err != nil || !added {
			return adopted, next, err
		}
		adopted += len(rows)

		if of, rows, err = t.firstRows(ctx, handler, deadLetterRowKey(t.source(handler), hash.morePrefix())); err != nil {
			return adopted, next, err
		}
	}

	return adopted, next, nil
}

// adoptOrphans puts the orphans of the handler back into its queue. They are delivered late, maybe
// after newer records of their items, and that is reported. It reads two things of an item without
// any, however many rows that has.
func (q *retryQueue) adoptOrphans(ctx context.Context) {
	table := q.queues.table

	for after := dynamo.Item(nil); ; {
		hash, rows, err := table.firstRows(ctx, q.h.Name, after)
		if err != nil {
			q.noteFault(ctx, "Query", err)
			return
		}

		if len(rows) == 0 {
			return
		}

		adopted, next, err := table.adoptOrphansOf(ctx, q.h.Name, hash, rows)
		if err != nil {
			q.noteFault(ctx, "TransactWriteItems", err)
		}
		after = next

		if adopted > 0 {
			q.queues.cfg.Log.Error("records of an item were found that a worker of an earlier version had lost sight of; they are delivered late",
				"handler", q.h.Name, "row", hash.rowID(), "records", adopted)
			q.queues.cfg.Events.fault("RetryQueue", "", fmt.Errorf("%w: %d records of handler %s", errOrphans, adopted, q.h.Name))
		}
	}
}

// errOrphans reports records that were out of the queue.
var errOrphans = errors.New("streams: waiting records were found that no row counted")
