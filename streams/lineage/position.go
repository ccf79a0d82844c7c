package lineage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"ratchet/streams/store"
)

// MaxPageSize is the largest Limit of GetRecords.
const MaxPageSize = 1000

// Horizon is how long DynamoDB Streams keeps a record.
const Horizon = 24 * time.Hour

// IsInvalidInput reports whether the service did not accept the parameters.
func IsInvalidInput(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)

	return ok && slices.Contains([]string{"ValidationException", "SerializationException", "UnknownOperationException"}, api.ErrorCode())
}

// CallTimeout is how long one call to DynamoDB Streams may take.
const CallTimeout = 30 * time.Second

// IsTrimmed reports whether err says that records were trimmed.
func IsTrimmed(err error) bool {
	_, is := errors.AsType[*streamtypes.TrimmedDataAccessException](err)
	return is
}

// Position is where to begin to read a shard: after a sequence number, else at a time,
// else at its oldest record.
type Position struct {
	After string
	Since time.Time
}

// readTries is how many calls for a page may fail in a row. Each call has the SDK's own retries.
const readTries = 5

// Read passes the shard's pages to page until page returns false, the shard ends, or there
// are as many empty pages in a row as emptyPages says.
func (p Position) Read(ctx context.Context, api API, arn, shard string, limit int32, emptyPages int, page func([]streamtypes.Record) bool) error {
	iterator := ""
	for empty, failed := 0, 0; empty < emptyPages; {
		records, next, err := p.readPage(ctx, api, arn, shard, iterator, limit)

		var missing *streamtypes.ResourceNotFoundException
		switch {
		case err == nil:
		case IsTrimmed(err), errors.As(err, &missing), IsInvalidInput(err), failed+1 >= readTries, ctx.Err() != nil:
			return fmt.Errorf("streams: read shard %s: %w", shard, err)
		default:
			// An iterator may have expired; the next one begins after the last page.
			failed++
			iterator = ""
			store.Backoff.Wait(ctx, failed)

			continue
		}

		// Both counts are of pages in a row: a page ends the failures, and a page with records ends
		// the empty pages.
		empty, failed = empty+1, 0
		if len(records) > 0 {
			empty, p = 0, Position{After: sequenceOf(records[len(records)-1])}
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
func (p Position) readPage(ctx context.Context, api API, arn, shard, iterator string, limit int32) (records []streamtypes.Record, next string, err error) {
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

// Input asks for an iterator at the position.
func (p Position) Input(arn, shard string) *dynamodbstreams.GetShardIteratorInput {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &arn,
		ShardId:           &shard,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}

	switch {
	case p.After != "":
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAfterSequenceNumber
		in.SequenceNumber = &p.After
	case !p.Since.IsZero():
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAtTimestamp
		in.Timestamp = &p.Since
	}

	return in
}

func (p Position) iterator(ctx context.Context, api API, arn, shard string) (string, error) {
	in := p.Input(arn, shard)

	out, err := api.GetShardIterator(ctx, in)
	if err != nil && in.Timestamp != nil && IsInvalidInput(err) {
		// Not every endpoint supports AT_TIMESTAMP.
		return Position{}.iterator(ctx, api, arn, shard)
	}

	if err != nil {
		return "", err
	}

	if aws.ToString(out.ShardIterator) == "" {
		return "", errors.New("there is no iterator")
	}

	return *out.ShardIterator, nil
}
