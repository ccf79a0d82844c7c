package status

import (
	"context"
	"math"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"ratchet/streams/leases"
	"ratchet/streams/lineage"
)

const (
	// parallelCounts is how many shards are read at once to count their records.
	parallelCounts = 8

	// An open shard counts as read to its end after this many empty pages in a row: one
	// empty page may be followed by records.
	emptyPagesAtEnd = 3
)

// countRecords counts the records after the checkpoints of the shards.
func (i Inspector) countRecords(ctx context.Context, s *Status, byShard map[string]leases.Lease) error {
	var g errgroup.Group
	g.SetLimit(parallelCounts)

	for n := range s.Shards {
		shard := &s.Shards[n]
		if shard.State == ShardFinished {
			continue
		}

		if !shard.Listed {
			shard.Unread = "the service does not have the shard any more"
			continue
		}

		g.Go(func() error {
			err := i.countShard(ctx, s.Stream, shard, byShard[shard.Shard])
			switch {
			case err == nil:
			case lineage.IsTrimmed(err):
				shard.Unread = "the records after the checkpoint were trimmed before they were read"
			default:
				shard.Unread = err.Error()
			}

			return ctx.Err()
		})
	}

	return g.Wait()
}

// countShard reads the shard from its checkpoint on and counts records, until a page reaches
// i.Count.
func (i Inspector) countShard(ctx context.Context, arn string, shard *ShardStatus, lease leases.Lease) error {
	from := lineage.Position{After: lease.Checkpoint, Since: lease.StartAt}

	empty := emptyPagesAtEnd
	if !shard.Open {
		empty = math.MaxInt // a closed shard ends by itself
	}

	return from.Read(ctx, i.Streams, arn, shard.Shard, int32(min(i.Count, lineage.MaxPageSize)), empty, func(records []streamtypes.Record) bool {
		for i := range records {
			record := lineage.FromSDK(&records[i])
			if lease.Checkpoint == "" && record.CreatedAt.Before(lease.StartAt) {
				continue
			}

			if shard.OldestAt.IsZero() {
				shard.OldestAt = record.CreatedAt
			}
			shard.Records++
		}
		shard.More = shard.Records >= i.Count

		return !shard.More
	})
}
