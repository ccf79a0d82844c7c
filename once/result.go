package once

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// maxResult is the size of the largest result that is stored, in bytes.
const maxResult = 4 << 20

// Results keeps results that are larger than [Config.Inline], up to 4 MiB, for example in
// an S3 bucket. Put stores a body under a name at least until keep. A name always comes
// with the same body. Get returns the body, or [ErrResultUnavailable] if it is gone.
type Results interface {
	Put(ctx context.Context, name string, body []byte, keep time.Time) error
	Get(ctx context.Context, name string) ([]byte, error)
}

// storeResult stores a large result. The name contains the key, the fence and the content,
// so that a former holder cannot overwrite the result of another holder.
func (c *Claims) storeResult(ctx context.Context, claim *Claim, result []byte, keep time.Time) (pointer, error) {
	key, body := sha256.Sum256([]byte(claim.key)), sha256.Sum256(result)
	p := pointer{
		name: fmt.Sprintf("%s%s/%d/%s", chunkPrefix, hex.EncodeToString(key[:]), claim.fence, hex.EncodeToString(body[:8])),
		hash: body[:],
	}
	// The result must outlive the record that points to it.
	return p, c.cfg.Results.Put(ctx, p.name, result, keep.Add(time.Hour))
}

// resultOf returns the result of a completed record, nil if there is none.
func (c *Claims) resultOf(ctx context.Context, r *Record) ([]byte, error) {
	switch {
	case r.lost:
		return nil, ErrResultUnavailable
	case r.pointer.name == "":
		return r.result, nil
	}

	body, err := c.cfg.Results.Get(ctx, r.pointer.name)
	if err != nil {
		return nil, fmt.Errorf("%w: read it: %w", ErrResultUnavailable, err)
	}

	if hash := sha256.Sum256(body); string(hash[:]) != string(r.pointer.hash) {
		return nil, fmt.Errorf("%w: its content is not what was stored", ErrResultUnavailable)
	}

	return body, nil
}

// chunks is the default of Config.Results: items of the claims' table.
type chunks struct {
	db    dynamoDB
	table string
}

const (
	attrChunk = "chunk"
	chunkSize = 350 << 10
)

// chunkKey names a chunk. Every chunk contains the number of chunks.
func chunkKey(name string, n int) string { return fmt.Sprintf("%s/%d", name, n) }

func (s chunks) Put(ctx context.Context, name string, body []byte, keep time.Time) error {
	count := (len(body) + chunkSize - 1) / chunkSize
	for n := count - 1; n >= 0; n-- { // the first chunk last: if it exists, all exist
		part := body[n*chunkSize : min(len(body), (n+1)*chunkSize)]
		item := recordKey(chunkKey(name, n))
		item[attrChunk] = dynamo.B(part)
		item[attrSize] = dynamo.N(int64(count))
		item[ExpiryAttribute] = dynamo.Seconds(keep)

		// A chunk always has the same content, so it does not matter which attempt stores it.
		_, _, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
			_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: item})
			return err
		})
		if err != nil {
			return fmt.Errorf("chunk %d of %d: %w", n+1, count, err)
		}
	}

	return nil
}

func (s chunks) Get(ctx context.Context, name string) ([]byte, error) {
	var body []byte
	for n, count := 0, 1; n < count; n++ {
		out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:      &s.table,
			Key:            recordKey(chunkKey(name, n)),
			ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", n+1, err)
		}

		if count = int(dynamo.Number(out.Item, attrSize)); count < 1 {
			return nil, fmt.Errorf("%w: chunk %d is gone", ErrResultUnavailable, n+1)
		}
		body = append(body, dynamo.Bytes(out.Item, attrChunk)...)
	}

	return body, nil
}
