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

// MaxResult is the largest result that is stored, in bytes.
const MaxResult = 4 << 20

// Results keeps what does not fit into a claim. Put stores a body under a name at
// least until keep; putting the same name again brings the same body. Get returns it,
// or [ErrResultUnavailable] when it is gone. A bucket of S3 will do.
type Results interface {
	Put(ctx context.Context, name string, body []byte, keep time.Time) error
	Get(ctx context.Context, name string) ([]byte, error)
}

// store puts a large result in its place. The name holds key, fence and content: who
// comes late cannot overwrite what another holder stored.
func (c *Claims) store(ctx context.Context, claim *Claim, result []byte, keep time.Time) (pointer, error) {
	key, body := sha256.Sum256([]byte(claim.key)), sha256.Sum256(result)
	p := pointer{hash: body[:], name: fmt.Sprintf("%s%s/%d/%s", chunkPrefix, hex.EncodeToString(key[:]), claim.fence, hex.EncodeToString(body[:8]))}
	// It outlives the record that points to it.
	if err := c.cfg.Results.Put(ctx, p.name, result, keep.Add(time.Hour)); err != nil {
		return p, fmt.Errorf("store the result: %w", err)
	}

	return p, nil
}

// resultOf is the result of a completed record, nil when it gave none.
func (c *Claims) resultOf(ctx context.Context, r *Record) ([]byte, error) {
	switch {
	case r.lost:
		return nil, ErrResultUnavailable
	case r.pointer.name == "":
		return r.result, nil
	}

	body, err := c.cfg.Results.Get(ctx, r.pointer.name)
	if err != nil {
		return nil, fmt.Errorf("%w: fetch it: %w", ErrResultUnavailable, err)
	}

	if hash := sha256.Sum256(body); string(hash[:]) != string(r.pointer.hash) {
		return nil, fmt.Errorf("%w: its content is not what was stored", ErrResultUnavailable)
	}

	return body, nil
}

// chunks keeps results as further items of the claims' table.
type chunks struct {
	db    dynamoDB
	table string
}

const (
	attrChunk = "chunk"
	chunkSize = 350 << 10
	maxChunks = MaxResult/chunkSize + 1
)

// chunkKey names a chunk. The first one tells how many there are.
func chunkKey(name string, n int) string { return fmt.Sprintf("%s/%d", name, n) }

func (s chunks) Put(ctx context.Context, name string, body []byte, keep time.Time) error {
	count := (len(body) + chunkSize - 1) / chunkSize
	for n := count - 1; n >= 0; n-- { // the first one last: when it is there, all are
		part := body[n*chunkSize : min(len(body), (n+1)*chunkSize)]
		_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: image{
			attrKey: dynamo.S(chunkKey(name, n)), attrChunk: dynamo.B(part), attrSize: dynamo.N(int64(count)),
			ExpiryAttribute: dynamo.N(keep.Unix())}})
		if err != nil {
			return fmt.Errorf("chunk %d of %d: %w", n+1, count, err)
		}
	}

	return nil
}

func (s chunks) Get(ctx context.Context, name string) ([]byte, error) {
	var body []byte
	for n, count := 0, 1; n < count; n++ {
		out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
			Key: image{attrKey: dynamo.S(chunkKey(name, n))}})
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", n+1, err)
		}

		if count = int(dynamo.Number(out.Item, attrSize)); count < 1 || count > maxChunks {
			return nil, fmt.Errorf("%w: chunk %d is gone", ErrResultUnavailable, n+1)
		}
		body = append(body, dynamo.Bytes(out.Item, attrChunk)...)
	}

	return body, nil
}
