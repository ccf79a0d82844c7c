package retryqueue

import (
	"context"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
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

	return itemsOf(rows), nil
}

// itemsOf describes the items of the rows, which are in the order of List.
func itemsOf(rows []Row) []Item {
	var items []Item

	for i, r := range rows {
		if i == 0 || r.Hash != rows[i-1].Hash {
			item := Item{Keys: r.Keys, Attempts: r.Attempts, Error: r.LastErr, Since: r.Since, NextTry: r.NextTry}
			if r.refused != nil {
				item.Error = r.refused.Error()
			}
			items = append(items, item)
		}
		item := &items[len(items)-1]
		item.Records++

		if r.Again {
			item.Replays++
		}
	}

	return items
}

// WaitingOf returns the records of one item that wait in the retry queue of a handler. It reports false if
// none wait. One query for each key under which they may be, which reads these records, and one read of the
// row that says how many keys there are.
func (q Queue) WaitingOf(ctx context.Context, handler string, keys map[string]ddbtypes.AttributeValue) (Item, bool, error) {
	rows, err := q.Rows().ofItem(ctx, handler, store.HashOf(store.ItemKey(streams.Record{Keys: keys})))
	if err != nil || len(rows) == 0 {
		return Item{}, false, err
	}

	return itemsOf(rows)[0], true, nil
}

// Paused returns since when the handlers are paused that are. One read of the leases of the queues.
func (q Queue) Paused(ctx context.Context) (map[string]time.Time, error) {
	queues, _, err := q.Leases().Read(ctx)
	if err != nil {
		return nil, err
	}
	paused := map[string]time.Time{}

	for _, l := range queues {
		if !l.PausedAt.IsZero() {
			paused[l.Shard] = l.PausedAt
		}
	}

	return paused, nil
}
