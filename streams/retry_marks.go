package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The mark of an item and a handler: the newest version that a Rebuild has queued. It is a
// row of the retry queue of its own, which time to live deletes.
const (
	retryMarkPrefix = "mark/" // before the hash of the item's key
	retryMark       = "version"

	// markRetention is how long a mark is kept after its newest version was queued.
	markRetention = 30 * 24 * time.Hour
)

func (h laneHash) markID() string { return retryMarkPrefix + h.text() }

// mark returns the newest version of the item that a Rebuild has queued for the handler.
func (t *retryTable) mark(ctx context.Context, handler string, hash laneHash) (version int64, known bool, err error) {
	row, err := t.read(ctx, handler, hash.markID())
	if err != nil {
		return 0, false, fmt.Errorf("streams: read a mark of %s: %w", handler, err)
	}

	return dynamo.Number(row, retryMark), row[retryMark] != nil, nil
}

// addMarked adds versions of one item and moves the mark to the last of them, if the mark is
// as it was read. It reports whether it did.
func (t *retryTable) addMarked(ctx context.Context, handler string, hash laneHash, records []Record, mark int64, known bool) (bool, error) {
	waiting, err := t.storeRecords(ctx, hash, records)
	if err != nil {
		return false, err
	}

	last := max(mark, records[len(records)-1].Replay.Version)
	marked := dynamo.NewUpdate(t.table, deadLetterRowKey(t.source(handler), hash.markID())).
		SetValue(retryMark, dynamo.N(last)).
		SetValue(DeadLetterExpiryAttribute, dynamo.Seconds(time.Now().Add(markRetention)))

	if known {
		marked.IfEquals(retryMark, dynamo.N(mark))
	} else {
		marked.IfAbsent(retryMark)
	}

	token := rand.Text() // shorter than the 36 characters that a request token may have
	_, err = t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: &token,
		TransactItems: []ddbtypes.TransactWriteItem{
			{Update: t.replaysUpdate(handler, hash, records[0].Keys, waiting, token).Part()},
			{Update: marked.Part()},
		},
	})

	var canceled *ddbtypes.TransactionCanceledException
	if errors.As(err, &canceled) {
		for _, w := range waiting {
			if err := t.parts().delete(ctx, t.source(handler), w.parts); err != nil {
				return false, err
			}
		}

		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("streams: put versions into the retry queue of %s: %w", handler, err)
	}

	return true, nil
}
