package retryqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// The mark of an item and a handler: the newest version that a Rebuild has queued. The mark is a
// row of its own in the retry queue. Time to live deletes it.
const (
	retryMarkPrefix = "mark/" // before the hash of the item's key
	retryMark       = "version"

	// markRetention is how long a mark is kept after its newest version was queued.
	markRetention = 30 * 24 * time.Hour

	// MarkSlack is by how much the clock of a Rebuild's process may be behind the service's
	// clock.
	MarkSlack = 10 * time.Minute
)

func markID(h store.ItemHash) string { return retryMarkPrefix + h.Text() }

// Mark returns the newest version of the item that a Rebuild has queued for the handler.
func (t *Table) Mark(ctx context.Context, handler string, hash store.ItemHash) (version int64, known bool, err error) {
	out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &t.Table,
		Key:            store.RowKey(t.source(handler, 0), markID(hash)),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return 0, false, fmt.Errorf("streams: read a mark of %s: %w", handler, err)
	}

	return dynamo.Number(out.Item, retryMark), out.Item[retryMark] != nil, nil
}

// IsMarked reports whether a Rebuild has queued the record's version of the item, or a newer one,
// for the handler, which has a Version.
func (t *Table) IsMarked(ctx context.Context, h *streams.Handler, hash store.ItemHash, r streams.Record) (bool, error) {
	mark, known, err := t.Mark(ctx, h.Name, hash)

	return known && h.Version(r) <= mark, err
}

// NoteMarks tells the workers that a Rebuild is about to move marks, up to the newest versions that
// the items have now. The workers know this before they deliver anything that the Rebuild adds (see
// retryQueues.knownAfter). Records that are created later are newer than the marks.
func NoteMarks(ctx context.Context, stored *leases.Table) error {
	now := dynamo.Millis(time.Now())

	// The stored time never falls, although another Rebuild may run at the same time.
	update := stored.Update(AdditionsRow).
		If("attribute_not_exists(#"+leases.LeaseMarkedAt+") OR #"+leases.LeaseMarkedAt+" < :now").
		Bind(":now", now).
		SetValue(leases.LeaseMarkedAt, now)
	if _, _, err := store.Apply(ctx, stored.API, update); err != nil {
		return fmt.Errorf("streams: tell the workers of marks: %w", err)
	}

	return nil
}

// Bounds of one transaction of AddMarked. DynamoDB takes 100 writes and 4 MB.
const (
	maxMarkedWrites = 90
	maxMarkedBytes  = 2 << 20
)

// AddMarked adds versions of one item, as many as one transaction takes, and moves the mark to the last of
// them, if the mark is still as it was read. It returns how many it has added, 0 if the mark has changed.
func (t *Table) AddMarked(ctx context.Context, handler string, hash store.ItemHash, records []streams.Record, mark int64, known bool) (added int, err error) {
	// The rows that are replaced may have more parts, which the first try finds out.
	before := make([]int, len(records))
	for more := true; more; {
		added, more, err = t.addMarked(ctx, handler, hash, records, mark, known, before)
	}

	if err != nil {
		return 0, fmt.Errorf("streams: put versions into the retry queue of %s: %w", handler, err)
	}

	return added, nil
}

// addMarked makes one try. more says that a replaced row has more parts than before says; before has the number then.
func (t *Table) addMarked(
	ctx context.Context, handler string, hash store.ItemHash, records []streams.Record, mark int64, known bool, before []int,
) (added int, more bool, err error) {
	// The mark is the first of the writes: its condition is the one that may fail.
	writes := make([]ddbtypes.TransactWriteItem, 1, maxMarkedWrites)
	var first []int // of the writes of each record

	for bytes := 0; added < len(records) && len(writes) <= maxMarkedWrites && bytes < maxMarkedBytes; added++ {
		row, packed, err := t.rowAgain(hash, records[added])
		if err != nil {
			return 0, false, err
		}

		first = append(first, len(writes))
		writes = append(writes, t.again(row, packed, before[added])...)
		bytes += len(packed)
	}

	// A mark never moves back, not even when Rebuild.Repeat queues older versions again.
	last := max(mark, records[added-1].Replay.Version)
	marked := dynamo.NewUpdate(t.Table, store.RowKey(t.source(handler, 0), markID(hash))).
		SetValue(retryMark, dynamo.N(last)).
		SetValue(store.Expiry, dynamo.Seconds(time.Now().Add(markRetention)))
	if known {
		marked.IfEquals(retryMark, dynamo.N(mark))
	} else {
		marked.IfAbsent(retryMark)
	}
	writes[0].Update = marked.Part()

	_, applied, err := store.Write(ctx, t.API, nil, writes)
	if err == nil && !applied {
		return 0, false, nil
	}

	for i, n := range first {
		old, _ := dynamo.FailedPart(err, n)
		if row, _ := t.decode(old); row.parts > before[i] {
			before[i], more = row.parts, true
		}
	}

	return added, more, err
}
