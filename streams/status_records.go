package streams

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"
)

const (
	// parallelCounts is how many shards are read at once to count their records.
	parallelCounts = 8

	// An open shard counts as read to its end after this many empty pages in a row: one
	// empty page may be followed by records.
	emptyPagesAtEnd = 3
)

// listShards lists a stream once, without confirmation: its result is shown or read, and nothing is
// deleted because of it.
func listShards(ctx context.Context, api streamsAPI, arn string) (listing, error) {
	return (&stream{api: api, arn: arn}).describe(ctx, nil, unlimited)
}

// countRecords counts the records after the checkpoints of the shards.
func (i Inspector) countRecords(ctx context.Context, s *Status, byShard map[string]Lease) error {
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
			case isTrimmed(err):
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
func (i Inspector) countShard(ctx context.Context, arn string, shard *ShardStatus, lease Lease) error {
	from := shardPosition{after: lease.Checkpoint, since: lease.StartAt}

	empty := emptyPagesAtEnd
	if !shard.Open {
		empty = math.MaxInt // a closed shard ends by itself
	}

	return from.read(ctx, i.Streams, arn, shard.Shard, int32(min(i.Count, maxPageSize)), empty, func(records []streamtypes.Record) bool {
		for i := range records {
			record := fromSDK(&records[i])
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

// shardPosition is where to begin to read a shard: after a sequence number, else at a time,
// else at its oldest record.
type shardPosition struct {
	after string
	since time.Time
}

// readTries is how many calls for a page may fail in a row. Each call has the SDK's own retries.
const readTries = 5

// read passes the shard's pages to page until page returns false, the shard ends, or there
// are as many empty pages in a row as emptyPages says.
func (p shardPosition) read(ctx context.Context, api streamsAPI, arn, shard string, limit int32, emptyPages int, page func([]streamtypes.Record) bool) error {
	iterator := ""
	for empty, failed := 0, 0; empty < emptyPages; {
		records, next, err := p.readPage(ctx, api, arn, shard, iterator, limit)

		var missing *streamtypes.ResourceNotFoundException
		switch {
		case err == nil:
		case isTrimmed(err), errors.As(err, &missing), isInvalidInput(err), failed+1 >= readTries, ctx.Err() != nil:
			return fmt.Errorf("streams: read shard %s: %w", shard, err)
		default:
			// An iterator may have expired; the next one begins after the last page.
			failed++
			iterator = ""
			readBackoff.Wait(ctx, failed)

			continue
		}

		// Both counts are of pages in a row: a page ends the failures, and a page with records ends
		// the empty pages.
		empty, failed = empty+1, 0
		if len(records) > 0 {
			empty, p = 0, shardPosition{after: sequenceOf(records[len(records)-1])}
		}

		if !page(records) || next == "" {
			return nil
		}
		iterator = next
	}

	return nil
}

func sequenceOf(r streamtypes.Record) string {
	if r.Dynamodb == nil {
		return ""
	}

	return aws.ToString(r.Dynamodb.SequenceNumber)
}

// readPage reads a page from the iterator, or from the position if iterator is "".
func (p shardPosition) readPage(ctx context.Context, api streamsAPI, arn, shard, iterator string, limit int32) (records []streamtypes.Record, next string, err error) {
	if iterator == "" {
		if iterator, err = p.iterator(ctx, api, arn, shard); err != nil {
			return nil, "", err
		}
	}

	out, err := api.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator, Limit: aws.Int32(limit)})
	if err != nil {
		return nil, "", err
	}

	return out.Records, aws.ToString(out.NextShardIterator), nil
}

// input asks for an iterator at the position.
func (p shardPosition) input(arn, shard string) *dynamodbstreams.GetShardIteratorInput {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &arn,
		ShardId:           &shard,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}

	switch {
	case p.after != "":
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAfterSequenceNumber
		in.SequenceNumber = &p.after
	case !p.since.IsZero():
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAtTimestamp
		in.Timestamp = &p.since
	}

	return in
}

func (p shardPosition) iterator(ctx context.Context, api streamsAPI, arn, shard string) (string, error) {
	in := p.input(arn, shard)

	out, err := api.GetShardIterator(ctx, in)
	if err != nil && in.Timestamp != nil && isInvalidInput(err) {
		// Not every endpoint supports AT_TIMESTAMP.
		return shardPosition{}.iterator(ctx, api, arn, shard)
	}

	if err != nil {
		return "", err
	}

	if aws.ToString(out.ShardIterator) == "" {
		return "", errors.New("there is no iterator")
	}

	return *out.ShardIterator, nil
}
