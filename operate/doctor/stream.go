package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// maxReaders is how many readers of a shard DynamoDB allows at the same time
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html).
const maxReaders = 2

// checkStream looks at the streams of the tables that need one: whether they can be read, and how
// many read them. Whether the streams are on is a check of the table.
func (e *examination) checkStream(ctx context.Context) (checks []Check) {
	// e.described has the tables in the same order.
	for i, t := range e.cfg.Tables {
		if s := t.Input.StreamSpecification; s == nil || !aws.ToBool(s.StreamEnabled) {
			continue
		}

		is := e.described[i]
		if is == nil || is.StreamSpecification == nil {
			continue // the check of the table says so
		}

		arn := aws.ToString(is.LatestStreamArn)
		if found := append(e.checkReading(ctx, t, arn), e.checkReaders(ctx, t, arn)...); len(found) > 0 {
			checks = append(checks, found...)
		} else {
			checks = append(checks, NewOK("stream of "+t.name(), "can be read"))
		}
	}

	return checks
}

// checkReading tries what a reader of the stream calls.
func (e *examination) checkReading(ctx context.Context, t Table, arn string) []Check {
	subject := "stream of " + t.name()

	open := e.needed("dynamodb", func(r string) bool { return strings.HasPrefix(r, "table/"+t.name()+"/stream/") })
	if len(open) == 0 {
		return nil // the simulation allows it, or nothing here reads it
	}

	operation, err := e.read(ctx, arn)
	switch {
	case isDenied(err):
		return e.denials(subject, []Permission{{Action: operation, Resource: open[0].Resource}}, arn)
	case err != nil:
		return []Check{NewUnchecked(subject, operation+": "+brief(err), "repeat the command")}
	}

	return nil
}

// read reads from the end of the stream's first shard. It returns the operation that failed.
func (e *examination) read(ctx context.Context, arn string) (operation string, err error) {
	described, err := e.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, Limit: aws.Int32(1)})
	// A stream without shards has nothing to read, and DescribeStream was allowed.
	if err != nil || len(described.StreamDescription.Shards) == 0 {
		return "dynamodb:DescribeStream", err
	}

	iterator, err := e.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn,
		ShardId:   described.StreamDescription.Shards[0].ShardId,
		// LATEST: it reads nothing, so no record is transferred.
		ShardIteratorType: types.ShardIteratorTypeLatest,
	})
	if err != nil || iterator.ShardIterator == nil {
		return "dynamodb:GetShardIterator", err
	}

	_, err = e.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator, Limit: aws.Int32(1)})

	return "dynamodb:GetRecords", err
}

// checkReaders counts the readers of the stream.
func (e *examination) checkReaders(ctx context.Context, t Table, arn string) []Check {
	// DynamoDB does not name the readers of a stream; the table of leases does.
	if e.cfg.Readers == nil {
		return nil
	}

	subject := "readers of " + t.name()
	readers, err := e.cfg.Readers(ctx, arn)

	switch {
	case err != nil:
		return []Check{NewUnchecked(subject, brief(err), "fix the table of leases first")}
	case len(readers) > maxReaders:
		return []Check{NewFailure(subject, fmt.Sprintf("%d groups read the stream (%s), and DynamoDB throttles more than %d", len(readers), strings.Join(readers, ", "), maxReaders),
			"stop the workers of a group, or let one group forward what another one needs; Lambda functions on the stream count, too, and are not seen here")}
	}

	return nil
}
