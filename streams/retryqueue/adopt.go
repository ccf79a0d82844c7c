package retryqueue

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// adopt puts a record in the place of its n-th record of the row, which an earlier holder of the
// shard's lease has put there: from then on the record is the new holder's (see judge).
func (t *Table) adopt(ctx context.Context, handler string, row Row, n int, record Waiting) (Parking, error) {
	element := fmt.Sprintf("#records[%d]", n)
	former := row.Records[n]

	update := t.Update(handler, row.Hash).
		If(element+".#sequence = :sequence AND "+element+".#token = :token").
		Bind(":sequence", dynamo.S(former.Sequence)).
		Bind(":token", dynamo.S(former.Parts.Token)).
		Bind(":record", record.Encode()).
		Set(element + " = :record")

	old, applied, err := store.Apply(ctx, t.API, update)
	if err != nil {
		return 0, fmt.Errorf("streams: adopt record %s of %s in the retry queue: %w", record.Sequence, handler, err)
	}

	if !applied {
		// A record before it was removed, or the answer of an earlier try was lost: the next try
		// finds out.
		if now, _ := decodeRetryRow(old); !now.refers(record) {
			return RowChanged, t.DropParts(ctx, handler, record)
		}
	}

	return Parked, t.parts().Delete(ctx, t.Source(handler), former.Parts)
}

// refers reports whether the row refers to the parts of the record.
func (r Row) refers(record Waiting) bool {
	return slices.ContainsFunc(r.Records, func(w Waiting) bool { return w.Parts == record.Parts })
}

// adoptMore is adopt for a record that may have a row beside the item's row. It returns NotWaiting
// if the record does not wait any more.
func (t *Table) adoptMore(ctx context.Context, handler string, row Row, record Waiting) (Parking, error) {
	ref := store.RowKey(t.Source(handler), moreID(row.Hash, record.Sequence))
	ref[retryRecords] = record.Encode()

	out, err := t.API.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &t.Table,
		Item:                      ref,
		ConditionExpression:       aws.String("attribute_exists(#id) AND (attribute_not_exists(#records.#epoch) OR #records.#epoch <= :epoch)"),
		ExpressionAttributeNames:  map[string]string{"#id": store.ID, "#records": retryRecords, "#epoch": retryEpoch},
		ExpressionAttributeValues: dynamo.Item{":epoch": dynamo.N(record.Epoch)},
		ReturnValues:              ddbtypes.ReturnValueAllOld,
	})
	if _, failed := dynamo.FailedCondition(err); failed {
		// The reference may have been moved into the item's row meanwhile.
		now, _, err := t.Get(ctx, handler, row.Hash)
		if err == nil && slices.ContainsFunc(now.Records, func(w Waiting) bool { return w.Sequence == record.Sequence }) {
			return RowChanged, t.DropParts(ctx, handler, record)
		}

		return NotWaiting, err
	}

	if err != nil {
		return 0, fmt.Errorf("streams: adopt record %s of %s in the retry queue: %w", record.Sequence, handler, err)
	}

	former := decodeWaitingRecord(out.Attributes[retryRecords], row.Hash)
	if former.Parts == record.Parts {
		return Parked, nil
	}

	return Parked, t.parts().Delete(ctx, t.Source(handler), former.Parts)
}
