package streams

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of a dead letter.
const (
	letterSource    = "source"
	letterID        = "id"
	letterHandler   = "handler"
	letterKeys      = "keys"
	letterEvent     = "eventName"
	letterRecord    = "record" // the whole record as JSON, when it is small enough
	letterParts     = "parts"  // else how many parts it has
	letterPart      = "part"   // in a part's own row: gzipped JSON
	letterError     = "error"
	letterPermanent = "permanent"
	letterAttempts  = "attempts"
	letterFailedAt  = "failedAt"
	letterRedrives  = "redrives"
	letterClaim     = "claimedUntil"
)

// Sizes within DynamoDB's 400 KB per item, with room for the other attributes.
const (
	inlineRecord = 256 << 10
	partSize     = 350 << 10
	errorSize    = 8 << 10
)

// DeadLetter is a record that a handler gave up on.
type DeadLetter struct {
	// ID tells it from the handler's other letters; ids of one shard sort in the
	// order of the stream.
	ID      string
	Handler string
	// Record is the whole record. List leaves it nil for very large ones; Get
	// fetches those too.
	Record *Record
	// Error is what the last attempt returned; Permanent says that it was marked
	// so. Attempts counts the calls.
	Error     string
	Permanent bool
	Attempts  int
	// FailedAt is when the last attempt failed; Redrives counts the attempts made
	// by hand since.
	FailedAt time.Time
	Redrives int
}

// ErrNoLetter says that there is no such dead letter (any more).
var ErrNoLetter = errors.New("streams: no such dead letter")

// letterTable is the dead-letter table.
type letterTable struct {
	api   dynamoAPI
	table string
}

func source(handler string) string { return "streams/" + handler }

// letterIDOf names the letter by stream, shard and sequence number, so that
// storing it twice stores it once.
func letterIDOf(r Record) string {
	table, label := r.StreamARN, ""
	if i := strings.Index(table, ":table/"); i >= 0 {
		table = table[i+len(":table/"):]
	}
	table, label, _ = strings.Cut(table, "/stream/")
	seq := strings.TrimLeft(r.SequenceNumber, "0")

	return table + "/" + label + "/" + r.ShardID + "/" + strings.Repeat("0", max(0, 40-len(seq))) + seq
}

func letterKey(handler, id string) item {
	return item{letterSource: avS(source(handler)), letterID: avS(id)}
}

// put stores the record as a dead letter of r.Handler. Parts go first and the
// letter itself last, so a letter that is seen is whole.
func (t *letterTable) put(ctx context.Context, r Record, cause error) error {
	body, err := encodeRecord(r)
	if err != nil {
		return fmt.Errorf("streams: encode dead letter: %w", err)
	}
	id := letterIDOf(r)
	it := letterKey(r.Handler, id)
	it[letterHandler], it[letterEvent] = avS(r.Handler), avS(string(r.EventName))

	it[letterKeys] = &ddbtypes.AttributeValueMemberM{Value: r.Keys}
	it[letterError], it[letterPermanent] = avS(errorText(cause)), avBool(IsPermanent(cause))
	it[letterAttempts], it[letterFailedAt] = avN(int64(r.Attempt)), avN(time.Now().UnixMilli())
	if len(body) <= inlineRecord {
		it[letterRecord] = avS(string(body))
	} else {
		n, err := t.putParts(ctx, r.Handler, id, body)
		if err != nil {
			return err
		}
		it[letterParts] = avN(int64(n))
	}

	_, err = t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.table, Item: it,
		ConditionExpression:      aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames: map[string]string{"#id": letterID},
	})
	if _, stored := refusal(err); stored || err == nil {
		return nil
	}

	return fmt.Errorf("streams: store dead letter %s of %s: %w", id, r.Handler, err)
}

func (t *letterTable) putParts(ctx context.Context, handler, id string, body []byte) (int, error) {
	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return 0, err
	}

	if err := w.Close(); err != nil {
		return 0, err
	}

	n := 0
	for packed.Len() > 0 {
		n++
		it := letterKey(handler, partID(id, n))
		it[letterPart] = &ddbtypes.AttributeValueMemberB{Value: bytes.Clone(packed.Next(partSize))}
		if _, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: it}); err != nil {
			return 0, fmt.Errorf("streams: store part %d of dead letter %s: %w", n, id, err)
		}
	}

	return n, nil
}

// partID sorts right behind the letter's own id.
func partID(id string, n int) string { return id + "#" + strconv.Itoa(n) }

func (t *letterTable) parts(ctx context.Context, handler, id string, n int) ([]byte, error) {
	var packed bytes.Buffer
	for i := 1; i <= n; i++ {
		it, err := t.get(ctx, handler, partID(id, i))
		if err != nil {
			return nil, err
		}

		if b, ok := it[letterPart].(*ddbtypes.AttributeValueMemberB); ok {
			packed.Write(b.Value)
		}
	}

	r, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("streams: unpack dead letter %s: %w", id, err)
	}

	return io.ReadAll(r)
}

func (t *letterTable) get(ctx context.Context, handler, id string) (item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.table, Key: letterKey(handler, id), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("streams: read dead letter %s of %s: %w", id, handler, err)
	}

	if len(out.Item) == 0 {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoLetter, id, handler)
	}

	return out.Item, nil
}

func decodeLetter(it item) (DeadLetter, error) {
	l := DeadLetter{
		ID: str(it, letterID), Handler: str(it, letterHandler), Error: str(it, letterError),
		Permanent: boolean(it, letterPermanent), Attempts: int(num(it, letterAttempts)),
		FailedAt: millis(it, letterFailedAt), Redrives: int(num(it, letterRedrives)),
	}
	if body := str(it, letterRecord); body != "" {
		r, err := decodeRecord([]byte(body))
		if err != nil {
			return l, fmt.Errorf("streams: decode dead letter %s: %w", l.ID, err)
		}
		l.Record = &r
	}

	return l, nil
}

// errorText is the error as it is stored: valid UTF-8, cut to a few KB.
func errorText(err error) string {
	if err == nil {
		return ""
	}

	s := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(s) <= errorSize {
		return s
	}

	s = s[:errorSize]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}

	return s
}
