package streams

import (
	"context"
	"fmt"
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
		items[i] = row.item()
	}

	return items, nil
}

// item describes the row for callers.
func (r retryRow) item() WaitingItem {
	item := WaitingItem{
		Keys:     r.keys,
		Records:  r.length() + r.more,
		Replays:  len(r.replays),
		Attempts: r.attempts,
		Error:    r.lastErr,
		Since:    r.since,
		NextTry:  r.nextTry,
	}

	if r.refused != nil {
		item.Error = r.refused.Error()
	}

	return item
}

// WaitingOf returns the records of one item that wait in the retry queue of a handler. It reports false if
// none wait. One read.
func (q RetryQueue) WaitingOf(ctx context.Context, handler string, keys map[string]ddbtypes.AttributeValue) (WaitingItem, bool, error) {
	item, err := q.rows().read(ctx, handler, hashLane(itemKey(Record{Keys: keys})).rowID())
	if err != nil {
		return WaitingItem{}, false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
	}
	row, ok := q.rows().decode(item)

	return row.item(), ok && (row.refused != nil || !row.empty()), nil
}

// Paused returns since when the handlers are paused that are. One read of the leases of the queues.
func (q RetryQueue) Paused(ctx context.Context) (map[string]time.Time, error) {
	queues, _, err := q.leases().read(ctx)
	if err != nil {
		return nil, err
	}
	paused := map[string]time.Time{}

	for _, l := range queues {
		if !l.pausedAt.IsZero() {
			paused[l.Shard] = l.pausedAt
		}
	}

	return paused, nil
}
