package streams

import (
	"context"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// WaitingItem is an item whose records wait in the retry queue of a handler.
type WaitingItem struct {
	// Keys is the item's primary key.
	Keys map[string]ddbtypes.AttributeValue
	// Records is how many of the item's records wait. Replays is how many of these are delivered
	// again on request. The other fields are about the first record.
	Records int
	Replays int
	// Attempts is the number of failed calls, Error the error of the newest call. If Attempts is 0,
	// Error may say why no call was made: the handler is paused, fails for every item, or is slower
	// than the others. A row of a newer format has only an Error.
	Attempts int
	Error    string
	// Since is when the first call failed, zero if none has.
	Since time.Time
	// NextTry is when the record is due. When the handler recovers from an outage, the record is
	// tried sooner.
	NextTry time.Time
}

// Waiting returns the items of a table that wait in the retry queue of a handler, in no
// particular order.
func (d DeadLetters) Waiting(ctx context.Context, table, handler string) ([]WaitingItem, error) {
	queue := &retryTable{api: d.DynamoDB, table: d.Table, scope: groupKey(d.Group, table)}

	rows, err := queue.list(ctx, handler)
	if err != nil {
		return nil, err
	}

	items := make([]WaitingItem, len(rows))
	for i, row := range rows {
		items[i] = WaitingItem{
			Keys:     row.keys,
			Records:  row.length() + row.more,
			Replays:  len(row.replays),
			Attempts: row.attempts,
			Error:    row.lastErr,
			Since:    row.since,
			NextTry:  row.nextTry,
		}

		if row.refused != nil {
			items[i].Error = row.refused.Error()
		}
	}

	return items, nil
}
