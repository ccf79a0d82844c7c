package streams

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The mark of an item and a handler: the newest version that a Rebuild has queued. The mark is a
// row of its own in the retry queue. Time to live deletes it.
const (
	retryMarkPrefix = "mark/" // before the hash of the item's key
	retryMark       = "version"

	// markRetention is how long a mark is kept after its newest version was queued.
	markRetention = 30 * 24 * time.Hour

	// markSlack is by how much the clock of a Rebuild's process may be behind the service's
	// clock.
	markSlack = 10 * time.Minute
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

// isMarked reports whether a Rebuild has queued the record's version of the item, or a newer one,
// for the handler, which has a Version.
func (t *retryTable) isMarked(ctx context.Context, h *Handler, hash laneHash, r Record) (bool, error) {
	mark, known, err := t.mark(ctx, h.Name, hash)

	return known && h.Version(r) <= mark, err
}

// noteMarks tells the workers that a Rebuild is about to move marks, up to the newest versions that
// the items have now. The workers know this before they deliver anything that the Rebuild adds (see
// retryQueues.knownAfter). Records that are created later are newer than the marks.
func noteMarks(ctx context.Context, leases *leaseTable) error {
	now := dynamo.Millis(time.Now())

	// The stored time never falls, although another Rebuild may run at the same time.
	update := leases.update(additionsRow).
		If("attribute_not_exists(#"+leaseMarkedAt+") OR #"+leaseMarkedAt+" < :now").
		Bind(":now", now).
		SetValue(leaseMarkedAt, now)
	if _, _, err := applyUpdate(ctx, leases.api, update); err != nil {
		return fmt.Errorf("streams: tell the workers of marks: %w", err)
	}

	return nil
}

// isRepaired reports whether a Rebuild has queued this version of the record's item, or a newer
// one, for the handler. It reads the mark only for a record that was created before the marks last
// moved, or up to markSlack later.
func (s *laneScheduler) isRepaired(shard *shardLanes, h *Handler, r Record) (bool, error) {
	markedAt := fromUnixMilli(s.markedAt.Load())
	// Before any Rebuild this costs no read.
	if markedAt.IsZero() || h.Version == nil || h.Unordered || r.CreatedAt.After(markedAt.Add(markSlack)) {
		return false, nil
	}

	ctx, cancel := shard.withinLease()
	defer cancel()

	return s.retries.isMarked(ctx, h, hashLane(itemKey(r)), r)
}

// addMarked adds versions of one item and moves the mark to the last of them, if the mark is still
// as it was read. It reports false if the mark has changed or the item's row is full.
func (t *retryTable) addMarked(ctx context.Context, handler string, hash laneHash, records []Record, mark int64, known bool) (bool, error) {
	waiting, err := t.storeRecords(ctx, hash, records)
	if err != nil {
		return false, err
	}

	// A mark never moves back, not even when Rebuild.Repeat queues older versions again.
	last := max(mark, records[len(records)-1].Replay.Version)
	marked := dynamo.NewUpdate(t.table, deadLetterRowKey(t.source(handler), hash.markID())).
		SetValue(retryMark, dynamo.N(last)).
		SetValue(DeadLetterExpiryAttribute, dynamo.Seconds(time.Now().Add(markRetention)))

	if known {
		marked.IfEquals(retryMark, dynamo.N(mark))
	} else {
		marked.IfAbsent(retryMark)
	}

	addition := rand.Text()

	added, err := t.transact(ctx, handler, []ddbtypes.TransactWriteItem{
		{Update: t.replaysUpdate(handler, hash, records[0].Keys, waiting, addition).Part()},
		{Update: marked.Part()},
	})
	if err != nil || added {
		return added, err
	}

	// A row of a newer format takes no records: then get returns the error that ends the Rebuild.
	_, _, refused := t.get(ctx, handler, hash)

	for _, w := range waiting {
		if err := t.parts().delete(ctx, t.source(handler), w.parts); err != nil {
			return false, err
		}
	}

	return false, refused
}
