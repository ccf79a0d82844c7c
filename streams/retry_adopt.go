package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// adopt puts a record in the place of its n-th record of the row, which an earlier holder of the
// shard's lease has put there: from then on the record is the new holder's (see judge).
func (t *retryTable) adopt(ctx context.Context, handler string, row retryRow, n int, record waitingRecord) (parking, error) {
	element := fmt.Sprintf("#records[%d]", n)
	former := row.records[n]

	update := t.update(handler, row.hash).
		If(element+".#sequence = :sequence AND "+element+".#token = :token").
		Bind(":sequence", dynamo.S(former.sequence)).
		Bind(":token", dynamo.S(former.parts.token)).
		Bind(":record", record.encode()).
		Set(element + " = :record")

	old, applied, err := applyUpdate(ctx, t.api, update)
	if err != nil {
		return 0, fmt.Errorf("streams: adopt record %s of %s in the retry queue: %w", record.sequence, handler, err)
	}

	if !applied {
		// A record before it was removed, or the answer of an earlier try was lost: the next try
		// finds out.
		if now, _ := decodeRetryRow(old); !now.refers(record) {
			return rowChanged, t.dropParts(ctx, handler, record)
		}
	}

	return parked, t.parts().delete(ctx, t.source(handler), former.parts)
}

// refers reports whether the row refers to the parts of the record.
func (r retryRow) refers(record waitingRecord) bool {
	return slices.ContainsFunc(r.records, func(w waitingRecord) bool { return w.parts == record.parts })
}

// adoptMore is adopt for a record that may have a row beside the item's row. It returns notWaiting
// if the record does not wait any more.
func (t *retryTable) adoptMore(ctx context.Context, handler string, row retryRow, record waitingRecord) (parking, error) {
	ref := deadLetterRowKey(t.source(handler), row.hash.moreID(record.sequence))
	ref[retryRecords] = record.encode()

	out, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &t.table,
		Item:                      ref,
		ConditionExpression:       aws.String("attribute_exists(#id) AND (attribute_not_exists(#records.#epoch) OR #records.#epoch <= :epoch)"),
		ExpressionAttributeNames:  map[string]string{"#id": deadLetterID, "#records": retryRecords, "#epoch": retryEpoch},
		ExpressionAttributeValues: dynamo.Item{":epoch": dynamo.N(record.epoch)},
		ReturnValues:              ddbtypes.ReturnValueAllOld,
	})
	if _, failed := dynamo.FailedCondition(err); failed {
		// The reference may have been moved into the item's row meanwhile.
		now, _, err := t.get(ctx, handler, row.hash)
		if err == nil && slices.ContainsFunc(now.records, func(w waitingRecord) bool { return w.sequence == record.sequence }) {
			return rowChanged, t.dropParts(ctx, handler, record)
		}

		return notWaiting, err
	}

	if err != nil {
		return 0, fmt.Errorf("streams: adopt record %s of %s in the retry queue: %w", record.sequence, handler, err)
	}

	former := decodeWaitingRecord(out.Attributes[retryRecords], row.hash)
	if former.parts == record.parts {
		return parked, nil
	}

	return parked, t.parts().delete(ctx, t.source(handler), former.parts)
}
