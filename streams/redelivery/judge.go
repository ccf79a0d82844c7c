package redelivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// errNotJudged says that the holder of a shard's lease has not come to a record yet that an earlier
// holder has put into the retry queue.
var errNotJudged = errors.New("streams: the record is not judged yet")

// judge reports whether a record of a shard that waits is to be delivered. It waits in vain if its
// write arrived after the lease of its shard was lost: then the next holder of the lease, which did
// not know of the row, has delivered it. judge reads the shard's lease. epoch is the epoch of the
// holder that has stored the record or found it in the queue (see adopt). There are four cases:
//
//   - The epoch is still the newest one: no other holder has begun.
//   - The record was finished when the next holder began: that holder does not deliver it.
//   - The next holders have not come to the record yet (errNotJudged): they will deliver or adopt it.
//   - They have passed the record without adopting it: it is not delivered.
func (q *Queues) judge(ctx context.Context, r streams.Record, epoch int64) (bool, error) {
	table := &leases.Table{API: q.table.API, Table: q.cfg.LeaseTable, Stream: store.GroupKey(q.cfg.Group, r.StreamARN)}

	lease, ok, err := table.Get(ctx, r.ShardID)
	if err != nil {
		return false, err
	}

	next, taken := lease.TakenAfter(epoch)
	switch {
	// A lease is deleted long after its shard was finished.
	case !ok, !taken:
		return true, nil
	case next.From != "" && store.CompareSequence(r.SequenceNumber, next.From) <= 0:
		return true, nil
	case lease.Finished(), lease.Checkpoint != "" && store.CompareSequence(r.SequenceNumber, lease.Checkpoint) <= 0:
		return false, nil
	}

	return false, fmt.Errorf("%w: %s of %s", errNotJudged, r.SequenceNumber, r.ShardID)
}

// judgeAgainAfter is the pause after errNotJudged.
func (q *Queues) judgeAgainAfter() time.Duration {
	return max(q.cfg.LeaseDuration/10, 10*time.Millisecond)
}
