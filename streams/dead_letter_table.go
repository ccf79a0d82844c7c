package streams

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
}

// store stores the record as a dead letter of r.Handler. Storing it twice stores it
// once. The parts of a large record are written first and the dead letter last, so
// a dead letter that is listed is complete.
func (t *deadLetterTable) store(ctx context.Context, r Record, cause error) error {
	body, err := encodeRecord(r)
	if err != nil {
		return fmt.Errorf("streams: encode dead letter: %w", err)
	}

	id := deadLetterIDOf(r)
	row := deadLetterKey(r.Handler, id)
	row[deadLetterHandler] = dynamo.S(r.Handler)
	row[deadLetterEventName] = dynamo.S(string(r.EventName))
	row[deadLetterKeys] = dynamo.M(r.Keys)
	row[deadLetterError] = dynamo.S(errorText(cause))
	row[deadLetterPermanent] = dynamo.Bool(IsPermanent(cause))
	row[deadLetterAttempts] = dynamo.N(int64(r.Attempt))
	row[deadLetterFailedAt] = dynamo.Millis(time.Now())

	if len(body) <= maxInlineRecord {
		row[deadLetterRecord] = dynamo.S(string(body))
	} else {
		parts, err := t.storeParts(ctx, r.Handler, id, body)
		if err != nil {
			return err
		}
		row[deadLetterParts] = dynamo.N(int64(parts))
	}

	_, err = t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                &t.table,
		Item:                     row,
		ConditionExpression:      aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames: map[string]string{"#id": deadLetterID},
	})
	// It exists if an earlier try was stored although its answer was lost, or if another
	// worker handled the record again. The first one stays, with its redrives.
	if _, exists := dynamo.FailedCondition(err); exists || err == nil {
		return nil
	}

	return fmt.Errorf("streams: store dead letter %s of %s: %w", id, r.Handler, err)
}

// storeParts stores the body in rows of its own and returns their number.
func (t *deadLetterTable) storeParts(ctx context.Context, handler, id string, body []byte) (int, error) {
	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return 0, err
	}

	if err := w.Close(); err != nil {
		return 0, err
	}

	parts := 0
	for packed.Len() > 0 {
		parts++
		row := deadLetterKey(handler, partID(id, parts))
		row[deadLetterPart] = dynamo.B(bytes.Clone(packed.Next(maxPart)))

		if _, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: row}); err != nil {
			return 0, fmt.Errorf("streams: store part %d of dead letter %s: %w", parts, id, err)
		}
	}

	return parts, nil
}

// partID returns the id of the n-th part, counted from 1. It sorts directly after
// the id of the dead letter.
func partID(id string, n int) string { return id + "#" + strconv.Itoa(n) }

func (t *deadLetterTable) readParts(ctx context.Context, handler, id string, parts int) ([]byte, error) {
	var packed bytes.Buffer
	for n := 1; n <= parts; n++ {
		row, err := t.get(ctx, handler, partID(id, n))
		if err != nil {
			return nil, err
		}
		packed.Write(dynamo.Bytes(row, deadLetterPart))
	}

	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("streams: unpack dead letter %s: %w", id, err)
	}

	return io.ReadAll(r)
}

// get returns the row of a dead letter or of a part, or ErrDeadLetterNotFound.
func (t *deadLetterTable) get(ctx context.Context, handler, id string) (dynamo.Item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.table,
		Key:            deadLetterKey(handler, id),
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

// delete deletes a dead letter that has the given number of parts. The dead letter
// goes first: without it, parts that a crash leaves behind are never listed.
func (t *deadLetterTable) delete(ctx context.Context, handler, id string, parts int) error {
	keys := []dynamo.Item{deadLetterKey(handler, id)}
	for n := 1; n <= parts; n++ {
		keys = append(keys, deadLetterKey(handler, partID(id, n)))
	}

	for _, key := range keys {
		if _, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.table, Key: key}); err != nil {
			return fmt.Errorf("streams: delete dead letter %s of %s: %w", id, handler, err)
		}
	}

	return nil
}
