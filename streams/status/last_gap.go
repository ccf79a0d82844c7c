package status

import (
	"context"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// LastGap returns when the workers of the group noticed for the last time that records of the stream, or of the
// stream before it, were lost before they were handled. It is zero if none were, as far as their leases say.
// It reads the leases only.
func (i Inspector) LastGap(ctx context.Context) (time.Time, error) {
	row, err := lineage.CurrentRow(ctx, i.Queue.DynamoDB, i.Queue.LeaseTable, store.GroupKey(i.Queue.Group, i.Queue.TableName))
	if err != nil {
		return time.Time{}, err
	}
	last := dynamo.Time(row, leases.LeaseGapAt)

	// Before the first worker of the group, no stream is known, and no lease can say more.
	arn := dynamo.Text(row, lineage.CurrentStreamARN)
	if arn == "" {
		return last, nil
	}

	stored, err := leases.Read(ctx, i.Queue.DynamoDB, i.Queue.LeaseTable, store.GroupKey(i.Queue.Group, arn))
	if err != nil {
		return time.Time{}, err
	}

	for _, l := range stored {
		if l.GapAt.After(last) {
			last = l.GapAt
		}
	}

	return last, nil
}
