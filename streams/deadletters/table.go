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

// parts are the parts of a dead letter's record.
func (t *Table) parts(handler, id string) store.Parts {
	return store.Parts{API: t.API, Table: t.Table, Source: t.Source(handler), ID: id}
}

// recordAttributes hold the record of a dead letter, or say how many parts it has.
var recordAttributes = []string{deadLetterRecord, deadLetterParts}

// encodeRecord returns the attributes that hold an encoded record, and the writes of the parts of a record
// that is too large for the row, in place of those that the row has had before.
func (t *Table) encodeRecord(
	handler, id string, keys dynamo.Item, body []byte, expiry types.AttributeValue, before int,
) (dynamo.Item, []types.TransactWriteItem) {
	if len(body) <= store.MaxInlineRecord {
		writes, _ := t.parts(handler, id).Puts(nil, nil, nil, before)
		return dynamo.Item{deadLetterRecord: dynamo.S(string(body))}, writes
	}

	writes, count := t.parts(handler, id).Puts(store.Pack(body), keys, expiry, before)

	return dynamo.Item{deadLetterParts: dynamo.N(int64(count))}, writes
}

// Store stores the record as a dead letter of r.Handler, with its parts. A repeat changes nothing. It returns
// ErrLeaseLost if the check, which may be nil, fails.
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

	record, parts := t.encodeRecord(r.Handler, id, r.Keys, body, expiry, 0)
	maps.Copy(row, record)

	// The row exists if an earlier try stored it and the answer was lost, or if another worker
	// handled the record again. The row that was stored first stays, with its redrives and parts, unless it has
	// expired and only waits for its deletion: it is not listed any more.
	put := &types.Put{
		TableName:                 &t.Table,
		Item:                      row,
		ConditionExpression:       aws.String("attribute_not_exists(#id) OR #expiry <= :now"),
		ExpressionAttributeNames:  map[string]string{"#id": store.ID, "#expiry": store.Expiry},
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Seconds(now)},
	}

	if _, _, err := store.Write(ctx, t.API, check, append([]types.TransactWriteItem{{Put: put}}, parts...)); err != nil {
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
	}, t.Clock.Listen)
	if err != nil {
		return nil, fmt.Errorf("streams: read dead letter %s of %s: %w", id, handler, err)
	}

	if len(out.Item) == 0 {
		return nil, fmt.Errorf("%w: %s of %s", ErrNotFound, id, handler)
	}

	return out.Item, nil
}

// AsSeen is a part of a transaction that fails unless the dead letter is there with the number of redrives.
func (t *Table) AsSeen(handler, id string, redrives int) *types.ConditionCheck {
	return &types.ConditionCheck{
		TableName:                 &t.Table,
		Key:                       t.Key(handler, id),
		ConditionExpression:       aws.String("attribute_exists(#id) AND (#redrives = :redrives OR (attribute_not_exists(#redrives) AND :redrives = :none))"),
		ExpressionAttributeNames:  map[string]string{"#id": store.ID, "#redrives": deadLetterRedrives},
		ExpressionAttributeValues: dynamo.Item{":redrives": dynamo.N(int64(redrives)), ":none": dynamo.N(0)},
	}
}
