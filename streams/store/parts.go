package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Parts are the rows for what does not fit into a row: its record, gzipped and cut. They belong to that
// row, which has their number. One transaction writes, replaces or deletes the row with all of them, so
// no part is ever without its row, and they have the row's end.
type Parts struct {
	API    API
	Table  string
	Source string
	ID     string // the ids of the parts begin with it
}

// A row has at most 400 KB. The limits leave room for the other attributes.
const (
	MaxInlineRecord = 256 << 10
	maxPart         = 350 << 10
)

// ErrPartMissing reports that a stored record is incomplete.
var ErrPartMissing = errors.New("not stored")

func (p Parts) key(n int) dynamo.Item {
	return RowKey(p.Source, p.ID+"#"+strconv.Itoa(n))
}

// Puts returns the writes of the parts of a record, for the item with these keys. The parts of a record
// that it replaces, of which there were before, are overwritten or deleted.
func (p Parts) Puts(packed []byte, keys dynamo.Item, expiry types.AttributeValue, before int) (writes []types.TransactWriteItem, count int) {
	for len(packed) > 0 {
		count++

		row := p.key(count)
		row[Part] = dynamo.B(packed[:min(maxPart, len(packed))])
		row[Keys] = dynamo.M(keys)
		row[Expiry] = expiry
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &p.Table, Item: row}})
		packed = packed[min(maxPart, len(packed)):]
	}

	return append(writes, p.deletes(count+1, before)...), count
}

// Deletes returns the writes that delete the parts.
func (p Parts) Deletes(count int) []types.TransactWriteItem { return p.deletes(1, count) }

func (p Parts) deletes(first, last int) (writes []types.TransactWriteItem) {
	for n := first; n <= last; n++ {
		writes = append(writes, types.TransactWriteItem{Delete: &types.Delete{TableName: &p.Table, Key: p.key(n)}})
	}

	return writes
}

// Keeps returns the writes that move the end of the parts.
func (p Parts) Keeps(count int, expiry types.AttributeValue) (writes []types.TransactWriteItem) {
	for n := 1; n <= count; n++ {
		update := dynamo.NewUpdate(p.Table, p.key(n)).IfPresent(Part).SetValue(Expiry, expiry)
		writes = append(writes, types.TransactWriteItem{Update: update.Part()})
	}

	return writes
}

// Read returns the record of which the parts are.
func (p Parts) Read(ctx context.Context, count int) ([]byte, error) {
	var packed []byte
	for n := 1; n <= count; n++ {
		out, err := p.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: &p.Table, Key: p.key(n), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return nil, fmt.Errorf("streams: read part %d of %s: %w", n, p.ID, err)
		}

		if len(out.Item) == 0 {
			return nil, fmt.Errorf("streams: part %d of %s: %w", n, p.ID, ErrPartMissing)
		}
		packed = append(packed, dynamo.Bytes(out.Item, Part)...)
	}

	return Unpack(packed)
}

// Pack returns the body, gzipped.
func Pack(body []byte) []byte {
	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body) // writing to a Buffer does not fail
	_ = w.Close()

	return packed.Bytes()
}

// Unpack is the reverse of Pack.
func Unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("streams: unpack a record: %w", err)
	}

	return io.ReadAll(r)
}
