package retryqueue

import (
	"context"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

// Item is an item whose records wait in the retry queue of a handler.
type Item struct {
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

// Items returns the items of a table that wait in the retry queue of a handler, in no
// particular order.
func Items(ctx context.Context, d deadletters.Letters, table, handler string) ([]Item, error) {
	queue := &Table{API: d.DynamoDB, Table: d.Table, Scope: store.GroupKey(d.Group, table)}

	rows, err := queue.List(ctx, handler)
	if err != nil {
		return nil, err
	}

	items := make([]Item, len(rows))
	for i, row := range rows {
		items[i] = Item{
			Keys:     row.Keys,
			Records:  row.Length() + row.More,
			Replays:  len(row.Replays),
			Attempts: row.Attempts,
			Error:    row.LastErr,
			Since:    row.Since,
			NextTry:  row.NextTry,
		}

		if row.refused != nil {
			items[i].Error = row.refused.Error()
		}
	}

	return items, nil
}
