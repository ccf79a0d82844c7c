package streams

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// A row has at most 400 KB. Larger records are stored in parts; both limits leave
// room for the other attributes.
const (
	maxInlineRecord = 256 << 10
	maxPart         = 350 << 10
)

// DeadLetterTableInput describes the dead-letter table, on demand: one row per dead
// letter (see DeadLetter) under its source and its id.
func DeadLetterTableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(deadLetterSource), dynamo.TextKey(deadLetterID))
}

type deadLetterTable struct {
	api   dynamoAPI
	table string
	group string // Config.Group
	clock *dynamo.Clock
}

// source is the partition key of a handler's dead letters.
func (t *deadLetterTable) source(handler string) string {
	return deadLetterSourcePrefix + groupKey(t.group, handler)
}

func (t *deadLetterTable) key(handler, id string) dynamo.Item {
	return deadLetterRowKey(t.source(handler), id)
}

// parts returns the store of the parts that expire with their dead letter.
func (t *deadLetterTable) parts(expiry types.AttributeValue) recordParts {
	return recordParts{api: t.api, table: t.table, expiry: expiry}
}

// recordAttributes hold the record of a dead letter, or say where its parts are.
var recordAttributes = []string{deadLetterRecord, deadLetterParts, deadLetterPartsToken}

// storeRecord returns the attributes that hold an encoded record. A record that is too large for the row
// is stored in parts first.
func (t *deadLetterTable) storeRecord(
	ctx context.Context, handler, id string, keys dynamo.Item, body []byte, expiry types.AttributeValue,
) (dynamo.Item, partsRef, error) {
	if len(body) <= maxInlineRecord {
		return dynamo.Item{deadLetterRecord: dynamo.S(string(body))}, partsRef{}, nil
	}

	parts, err := t.parts(expiry).store(ctx, t.source(handler), id, keys, body)
	if err != nil {
		return nil, parts, err
	}

	return dynamo.Item{
		deadLetterParts:      dynamo.N(int64(parts.count)),
		deadLetterPartsToken: dynamo.S(parts.token),
	}, parts, nil
}

// store stores the record as a dead letter of r.Handler. A repeat changes nothing. The parts of a
// large record are written first and the dead letter last, so a dead letter that is listed is
// complete. It returns ErrLeaseLost if the check fails, which may be nil.
func (t *deadLetterTable) store(ctx context.Context, r Record, cause error, check *types.ConditionCheck) error {
	body, err := encodeRecord(r)
	if err != nil {
		return fmt.Errorf("streams: encode dead letter: %w", err)
	}

	return t.storeBody(ctx, r, body, cause, check)
}

// storeBody is store with the encoded record.
func (t *deadLetterTable) storeBody(ctx context.Context, r Record, body []byte, cause error, check *types.ConditionCheck) error {
	id := deadLetterIDOf(r)
	row := t.key(r.Handler, id)
	row[rowFormat] = dynamo.N(deadLetterFormat)
	row[deadLetterHandler] = dynamo.S(r.Handler)
	row[deadLetterEventName] = dynamo.S(string(r.EventName))
	row[deadLetterKeys] = dynamo.M(r.Keys)
	row[deadLetterError] = dynamo.S(errorText(cause))
	row[deadLetterPermanent] = dynamo.Bool(IsPermanent(cause))
	row[deadLetterAttempts] = dynamo.N(int64(r.Attempt))
	now := t.clock.Now()
	expiry := dynamo.Seconds(now.Add(deadLetterRetention))
	row[deadLetterFailedAt] = dynamo.Millis(now)
	row[DeadLetterExpiryAttribute] = expiry

	record, parts, err := t.storeRecord(ctx, r.Handler, id, r.Keys, body, expiry)
	if err != nil {
		return err
	}
	maps.Copy(row, record)

	old, applied, err := fencedWrite(ctx, t.api, check, types.TransactWriteItem{Put: &types.Put{
		TableName:                           &t.table,
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames:            map[string]string{"#id": deadLetterID},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}})

	// The row exists if an earlier try stored it and the answer was lost, or if another worker
	// handled the record again. The row that was stored first stays, with its redrives and parts.
	if err == nil && !applied {
		// With equal tokens, this call has stored the row, which needs the parts. Otherwise the row
		// has other parts.
		if old != nil && dynamo.Text(old, deadLetterPartsToken) != parts.token {
			return t.parts(nil).delete(ctx, t.source(r.Handler), parts)
		}

		return nil
	}

	if err != nil {
		return fmt.Errorf("streams: store dead letter %s of %s: %w", id, r.Handler, err)
	}

	return nil
}

// get returns the row of a dead letter, or ErrDeadLetterNotFound.
func (t *deadLetterTable) get(ctx context.Context, handler, id string) (dynamo.Item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.table,
		Key:            t.key(handler, id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("streams: read dead letter %s of %s: %w", id, handler, err)
	}

	if len(out.Item) == 0 {
		return nil, fmt.Errorf("%w: %s of %s", ErrDeadLetterNotFound, id, handler)
	}

	return out.Item, nil
}

// delete deletes a dead letter with its parts. The dead letter is deleted first: if a crash leaves
// parts behind, no dead letter is listed for them.
func (t *deadLetterTable) delete(ctx context.Context, handler, id string, parts partsRef, check *types.ConditionCheck) error {
	_, _, err := fencedWrite(ctx, t.api, check, types.TransactWriteItem{Delete: &types.Delete{TableName: &t.table, Key: t.key(handler, id)}})
	if err != nil {
		return fmt.Errorf("streams: delete dead letter %s of %s: %w", id, handler, err)
	}

	return t.parts(nil).delete(ctx, t.source(handler), parts)
}
