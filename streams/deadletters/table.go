package deadletters

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// TableInput describes the dead-letter table, on demand: one row per dead
// letter (see Letter) under its source and its id.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(store.Source), dynamo.TextKey(store.ID))
}

// Table has the rows of dead letters.
type Table struct {
	API   store.API
	Table string
	Group string // Config.Group
	Clock *dynamo.Clock
}

// Source is the partition key of a handler's dead letters.
func (t *Table) Source(handler string) string {
	return deadLetterSourcePrefix + store.GroupKey(t.Group, handler)
}

// Key is the key of the row of a dead letter.
func (t *Table) Key(handler, id string) dynamo.Item {
	return store.RowKey(t.Source(handler), id)
}

// parts returns the store of the Parts that expire with their dead letter.
func (t *Table) parts(expiry types.AttributeValue) store.Parts {
	return store.Parts{API: t.API, Table: t.Table, Expiry: expiry}
}

// recordAttributes hold the record of a dead letter, or say where its parts are.
var recordAttributes = []string{deadLetterRecord, deadLetterParts, deadLetterPartsToken}

// storeRecord returns the attributes that hold an encoded record. A record that is too large for the row
// is stored in parts first.
func (t *Table) storeRecord(
	ctx context.Context, handler, id string, keys dynamo.Item, body []byte, expiry types.AttributeValue,
) (dynamo.Item, store.PartsRef, error) {
	if len(body) <= store.MaxInlineRecord {
		return dynamo.Item{deadLetterRecord: dynamo.S(string(body))}, store.PartsRef{}, nil
	}

	parts, err := t.parts(expiry).Store(ctx, t.Source(handler), id, keys, body)
	if err != nil {
		return nil, parts, err
	}

	return dynamo.Item{
		deadLetterParts:      dynamo.N(int64(parts.Count)),
		deadLetterPartsToken: dynamo.S(parts.Token),
	}, parts, nil
}

// Store stores the record as a dead letter of r.Handler. A repeat changes nothing. The parts of a
// large record are written first and the dead letter last, so a dead letter that is listed is
// complete. It returns ErrLeaseLost if the check fails, which may be nil.
func (t *Table) Store(ctx context.Context, r streams.Record, cause error, check *types.ConditionCheck) error {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return fmt.Errorf("streams: encode dead letter: %w", err)
	}

	return t.StoreBody(ctx, r, body, cause, check)
}

// StoreBody is Store with the encoded record.
func (t *Table) StoreBody(ctx context.Context, r streams.Record, body []byte, cause error, check *types.ConditionCheck) error {
	id := idOf(r)
	row := t.Key(r.Handler, id)
	row[store.Format] = dynamo.N(store.DeadLetterFormat)
	row[deadLetterHandler] = dynamo.S(r.Handler)
	row[deadLetterEventName] = dynamo.S(string(r.EventName))
	row[store.Keys] = dynamo.M(r.Keys)
	row[deadLetterError] = dynamo.S(store.ErrorText(cause))
	row[deadLetterPermanent] = dynamo.Bool(streams.IsPermanent(cause))
	row[deadLetterAttempts] = dynamo.N(int64(r.Attempt))
	now := t.Clock.Now()
	expiry := dynamo.Seconds(now.Add(deadLetterRetention))
	row[deadLetterFailedAt] = dynamo.Millis(now)
	row[store.Expiry] = expiry

	record, parts, err := t.storeRecord(ctx, r.Handler, id, r.Keys, body, expiry)
	if err != nil {
		return err
	}
	maps.Copy(row, record)

	old, applied, err := store.WriteFenced(ctx, t.API, check, types.TransactWriteItem{Put: &types.Put{
		TableName:                           &t.Table,
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames:            map[string]string{"#id": store.ID},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}})

	// The row exists if an earlier try stored it and the answer was lost, or if another worker
	// handled the record again. The row that was stored first stays, with its redrives and parts.
	if err == nil && !applied {
		// With equal tokens, this call has stored the row, which needs the parts. Otherwise the row
		// has other parts.
		if old != nil && dynamo.Text(old, deadLetterPartsToken) != parts.Token {
			return t.parts(nil).Delete(ctx, t.Source(r.Handler), parts)
		}

		return nil
	}

	if err != nil {
		return fmt.Errorf("streams: store dead letter %s of %s: %w", id, r.Handler, err)
	}

	return nil
}

// get returns the row of a dead letter, or ErrDeadLetterNotFound.
func (t *Table) get(ctx context.Context, handler, id string) (dynamo.Item, error) {
	out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.Table,
		Key:            t.Key(handler, id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("streams: read dead letter %s of %s: %w", id, handler, err)
	}

	if len(out.Item) == 0 {
		return nil, fmt.Errorf("%w: %s of %s", ErrNotFound, id, handler)
	}

	return out.Item, nil
}

// delete deletes a dead letter with its parts. The dead letter is deleted first: if a crash leaves
// parts behind, no dead letter is listed for them.
func (t *Table) delete(ctx context.Context, handler, id string, parts store.PartsRef, check *types.ConditionCheck) error {
	_, _, err := store.WriteFenced(ctx, t.API, check, types.TransactWriteItem{Delete: &types.Delete{TableName: &t.Table, Key: t.Key(handler, id)}})
	if err != nil {
		return fmt.Errorf("streams: delete dead letter %s of %s: %w", id, handler, err)
	}

	return t.parts(nil).Delete(ctx, t.Source(handler), parts)
}
