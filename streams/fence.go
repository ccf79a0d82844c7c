package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// A write of a worker may arrive after the worker has lost the lease under which it acts. Writes of
// leases compare owner, epoch and counter. The other writes are fenced like this:
//
//   - A record that a shard's worker puts into the retry queue carries the epoch of the shard's
//     lease. The queue's worker judges it before the first call (see judge). A condition on the
//     lease would cost a transaction for each record, four write units in place of one, and all
//     records of a shard would be in conflict over one row; a judgement costs one read.
//   - The queue's worker writes its epoch into an item's row before its first call for the item, if
//     the row may be older than its lease. Its further writes fail if the row has a higher epoch.
//   - A dead letter is stored, changed or deleted in a transaction that checks the lease of the
//     shard, or the item's row in the queue. Dead letters are rare.

// fencedWrite makes the write in a transaction with the check. It returns ErrLeaseLost if the check
// fails, and false with the row as it is if the condition of the write fails. Without a check it only
// makes the write.
func fencedWrite(ctx context.Context, api dynamoAPI, check *ddbtypes.ConditionCheck, write ddbtypes.TransactWriteItem) (old dynamo.Item, applied bool, err error) {
	if check == nil {
		err := writeAlone(ctx, api, write)
		if old, failed := dynamo.FailedCondition(err); failed {
			return old, false, nil
		}

		return nil, err == nil, err
	}

	_, err = api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []ddbtypes.TransactWriteItem{write, {ConditionCheck: check}},
	})

	failed := func(i int) bool {
		canceled := cancellation(err)

		return canceled != nil && i < len(canceled.CancellationReasons) &&
			aws.ToString(canceled.CancellationReasons[i].Code) == "ConditionalCheckFailed"
	}

	switch {
	case err == nil:
		return nil, true, nil
	case failed(1):
		return nil, false, ErrLeaseLost
	case failed(0):
		return cancellation(err).CancellationReasons[0].Item, false, nil
	}

	return nil, false, err
}

// writeAlone makes a write that could be a part of a transaction: half as many write units.
func writeAlone(ctx context.Context, api dynamoAPI, write ddbtypes.TransactWriteItem) (err error) {
	switch {
	case write.Put != nil:
		_, err = api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           write.Put.TableName,
			Item:                                write.Put.Item,
			ConditionExpression:                 write.Put.ConditionExpression,
			ExpressionAttributeNames:            write.Put.ExpressionAttributeNames,
			ExpressionAttributeValues:           write.Put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: write.Put.ReturnValuesOnConditionCheckFailure,
		})
	case write.Update != nil:
		_, err = api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 write.Update.TableName,
			Key:                       write.Update.Key,
			UpdateExpression:          write.Update.UpdateExpression,
			ConditionExpression:       write.Update.ConditionExpression,
			ExpressionAttributeNames:  write.Update.ExpressionAttributeNames,
			ExpressionAttributeValues: write.Update.ExpressionAttributeValues,
		})
	case write.Delete != nil:
		_, err = api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: write.Delete.TableName, Key: write.Delete.Key})
	}

	return err
}

// check returns a part of a transaction that fails unless this worker still holds the lease.
func (h *heldLease) check() *ddbtypes.ConditionCheck {
	return &ddbtypes.ConditionCheck{
		TableName:                &h.table.table,
		Key:                      leaseKey(h.table.stream, h.shard),
		ConditionExpression:      aws.String("#owner = :owner AND #epoch = :epoch"),
		ExpressionAttributeNames: map[string]string{"#owner": leaseOwner, "#epoch": leaseEpoch},
		ExpressionAttributeValues: dynamo.Item{
			":owner": dynamo.S(h.owner),
			":epoch": dynamo.N(h.epoch.Load()),
		},
	}
}

// check returns a part of a transaction that fails unless the row's first record is the same, and no
// later holder of the queue's lease has begun with the row.
func (t *retryTable) check(handler string, row retryRow) *ddbtypes.ConditionCheck {
	return &ddbtypes.ConditionCheck{
		TableName:           &t.table,
		Key:                 deadLetterRowKey(t.source(handler), row.hash.rowID()),
		ConditionExpression: aws.String(row.ifFirst() + " AND (" + ifHolder + ")"),
		ExpressionAttributeNames: map[string]string{
			"#" + row.names().list: row.names().list,
			"#sequence":            retrySequence,
			"#token":               retryToken,
			"#holder":              retryHolder,
		},
		ExpressionAttributeValues: dynamo.Item{
			":sequence": dynamo.S(row.first().sequence),
			":token":    dynamo.S(row.first().parts.token),
			":holder":   dynamo.N(row.holder),
		},
	}
}

// ifHolder is the condition that no holder of the queue's lease after :holder has begun with a row.
const ifHolder = "attribute_not_exists(#holder) OR #holder <= :holder"

// errNotJudged says that the holder of a shard's lease has not come to a record yet that an earlier
// holder has put into the retry queue.
var errNotJudged = errors.New("streams: the record is not judged yet")

// judge reports whether a record of a shard that waits is to be delivered. It waits in vain if its
// write arrived after the lease of its shard was lost: then the next holder of the lease, which did
// not know of the row, has delivered it. judge reads the shard's lease. epoch is the epoch of the
// holder that has stored the record or found it in the queue (see adopt). There are four cases:
//
//   - The epoch is still the newest one: no other holder has begun.
//   - The record was finished when the next holder began: that holder does not deliver it.
//   - The next holders have not come to the record yet (errNotJudged): they will deliver or adopt it.
//   - They have passed the record without adopting it: it is not delivered.
func (q *retryQueues) judge(ctx context.Context, r Record, epoch int64) (bool, error) {
	table := &leaseTable{api: q.cfg.DynamoDB, table: q.cfg.LeaseTable, stream: groupKey(q.cfg.Group, r.StreamARN)}

	lease, ok, err := table.get(ctx, r.ShardID)
	if err != nil {
		return false, err
	}

	next, taken := lease.takenAfter(epoch)
	switch {
	// A lease is deleted long after its shard was finished.
	case !ok, !taken:
		return true, nil
	case next.from != "" && compareSequence(r.SequenceNumber, next.from) <= 0:
		return true, nil
	case lease.Finished(), lease.Checkpoint != "" && compareSequence(r.SequenceNumber, lease.Checkpoint) <= 0:
		return false, nil
	}

	return false, fmt.Errorf("%w: %s of %s", errNotJudged, r.SequenceNumber, r.ShardID)
}

// judgeAgainAfter is the pause after errNotJudged.
func (q *retryQueues) judgeAgainAfter() time.Duration {
	return max(q.cfg.LeaseDuration/10, 10*time.Millisecond)
}

// get returns the lease or the tombstone of a shard. ok is false if there is none.
func (t *leaseTable) get(ctx context.Context, shard string) (_ Lease, ok bool, err error) {
	for _, stream := range []string{t.stream, t.stream + tombstonesSuffix} {
		out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:      &t.table,
			Key:            leaseKey(stream, shard),
			ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return Lease{}, false, fmt.Errorf("streams: read lease %s: %w", shard, err)
		}

		if len(out.Item) > 0 {
			return t.decode(out.Item), true, nil
		}
	}

	return Lease{}, false, nil
}
