package streams

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// recordParts stores encoded records that do not fit into a row: gzipped, and in rows of their own,
// to which the row refers. Each call of store makes new rows, so that parts to which a row refers
// are never overwritten by other ones. From its first write on, each part says whose it is and when
// it ends: after a crash, parts may be left to which no row refers.
type recordParts struct {
	api   dynamoAPI
	table string
	// expiry is when time to live deletes the parts that are stored.
	expiry types.AttributeValue
}

// partsRef refers to the parts of one record. The zero value refers to none.
type partsRef struct {
	id    string // of the row that the parts belong to; the parts' ids begin with it
	token string // distinguishes the calls of store
	count int
}

// partID returns the id of the n-th part, counted from 1. It sorts directly after the
// id of the row that the parts belong to.
func (ref partsRef) partID(n int) string {
	return ref.id + "#" + ref.token + "-" + strconv.Itoa(n)
}

// store stores the body, for the item with these keys. If store fails, the reference
// that it returns names the parts that may be stored.
func (p recordParts) store(ctx context.Context, source, id string, keys dynamo.Item, body []byte) (partsRef, error) {
	ref := partsRef{id: id, token: rand.Text()[:10]}

	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return ref, err
	}

	if err := w.Close(); err != nil {
		return ref, err
	}

	for packed.Len() > 0 {
		ref.count++

		row := deadLetterRowKey(source, ref.partID(ref.count))
		row[deadLetterPart] = dynamo.B(bytes.Clone(packed.Next(maxPart)))
		row[deadLetterKeys] = dynamo.M(keys)
		row[DeadLetterExpiryAttribute] = p.expiry

		if _, err := p.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: row}); err != nil {
			return ref, fmt.Errorf("streams: store part %d of %s: %w", ref.count, id, err)
		}
	}

	return ref, nil
}

func (p recordParts) read(ctx context.Context, source string, ref partsRef) ([]byte, error) {
	var packed bytes.Buffer
	for n := 1; n <= ref.count; n++ {
		out, err := p.api.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:      &p.table,
			Key:            deadLetterRowKey(source, ref.partID(n)),
			ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return nil, fmt.Errorf("streams: read part %d of %s: %w", n, ref.id, err)
		}

		if len(out.Item) == 0 {
			return nil, fmt.Errorf("streams: part %d of %s: %w", n, ref.id, errPartMissing)
		}
		packed.Write(dynamo.Bytes(out.Item, deadLetterPart))
	}

	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("streams: unpack %s: %w", ref.id, err)
	}

	return io.ReadAll(r)
}

// keep moves the end of the parts to p.expiry.
func (p recordParts) keep(ctx context.Context, source string, ref partsRef) error {
	for n := 1; n <= ref.count; n++ {
		update := dynamo.NewUpdate(p.table, deadLetterRowKey(source, ref.partID(n))).
			IfPresent(deadLetterPart).
			SetValue(DeadLetterExpiryAttribute, p.expiry)
		if _, _, err := applyUpdate(ctx, p.api, update); err != nil {
			return fmt.Errorf("streams: keep part %d of %s: %w", n, ref.id, err)
		}
	}

	return nil
}

func (p recordParts) delete(ctx context.Context, source string, ref partsRef) error {
	for n := 1; n <= ref.count; n++ {
		_, err := p.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &p.table,
			Key:       deadLetterRowKey(source, ref.partID(n)),
		})
		if err != nil {
			return fmt.Errorf("streams: delete part %d of %s: %w", n, ref.id, err)
		}
	}

	return nil
}
