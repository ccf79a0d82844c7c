package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Parts stores encoded records that do not fit into a row: gzipped, and in rows of their own,
// to which the row refers. Each call of store makes new rows, so that parts to which a row refers
// are never overwritten by other ones. From its first write on, each part says whose it is and when
// it ends: after a crash, parts may be left to which no row refers.
type Parts struct {
	API   API
	Table string
	// Expiry is when time to live deletes the parts that are stored.
	Expiry types.AttributeValue
}

// PartsRef refers to the parts of one record. The zero value refers to none.
type PartsRef struct {
	ID    string // of the row that the parts belong to; the parts' ids begin with it
	Token string // distinguishes the calls of store
	Count int
}

// partID returns the id of the n-th part, counted from 1. It sorts directly after the
// id of the row that the parts belong to.
func (ref PartsRef) partID(n int) string {
	return ref.ID + "#" + ref.Token + "-" + strconv.Itoa(n)
}

// Store stores the body, for the item with these keys. If Store fails, the reference
// that it returns names the parts that may be stored.
func (p Parts) Store(ctx context.Context, source, id string, keys dynamo.Item, body []byte) (PartsRef, error) {
	ref := PartsRef{ID: id, Token: rand.Text()[:10]}

	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return ref, err
	}

	if err := w.Close(); err != nil {
		return ref, err
	}

	for packed.Len() > 0 {
		ref.Count++

		row := RowKey(source, ref.partID(ref.Count))
		row[Part] = dynamo.B(bytes.Clone(packed.Next(maxPart)))
		row[Keys] = dynamo.M(keys)
		row[Expiry] = p.Expiry

		if _, err := p.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.Table, Item: row}); err != nil {
			return ref, fmt.Errorf("streams: store part %d of %s: %w", ref.Count, id, err)
		}
	}

	return ref, nil
}

func (p Parts) Read(ctx context.Context, source string, ref PartsRef) ([]byte, error) {
	var packed bytes.Buffer
	for n := 1; n <= ref.Count; n++ {
		out, err := p.API.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:      &p.Table,
			Key:            RowKey(source, ref.partID(n)),
			ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return nil, fmt.Errorf("streams: read part %d of %s: %w", n, ref.ID, err)
		}

		if len(out.Item) == 0 {
			return nil, fmt.Errorf("streams: part %d of %s: %w", n, ref.ID, ErrPartMissing)
		}
		packed.Write(dynamo.Bytes(out.Item, Part))
	}

	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("streams: unpack %s: %w", ref.ID, err)
	}

	return io.ReadAll(r)
}

// Keep moves the end of the parts to p.expiry.
func (p Parts) Keep(ctx context.Context, source string, ref PartsRef) error {
	for n := 1; n <= ref.Count; n++ {
		update := dynamo.NewUpdate(p.Table, RowKey(source, ref.partID(n))).
			IfPresent(Part).
			SetValue(Expiry, p.Expiry)
		if _, _, err := Apply(ctx, p.API, update); err != nil {
			return fmt.Errorf("streams: keep part %d of %s: %w", n, ref.ID, err)
		}
	}

	return nil
}

// Delete deletes the parts of a record.
func (p Parts) Delete(ctx context.Context, source string, ref PartsRef) error {
	for n := 1; n <= ref.Count; n++ {
		_, err := p.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &p.Table,
			Key:       RowKey(source, ref.partID(n)),
		})
		if err != nil {
			return fmt.Errorf("streams: delete part %d of %s: %w", n, ref.ID, err)
		}
	}

	return nil
}

// A row has at most 400 KB. Larger records are stored in parts; both limits leave
// room for the other attributes.
const (
	MaxInlineRecord = 256 << 10
	maxPart         = 350 << 10
)

// ErrPartMissing reports that a stored record is incomplete.
var ErrPartMissing = errors.New("not stored")
