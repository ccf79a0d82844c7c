package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
)

// A test of a stream's reader decides when shards close and split, when a shard stalls and when records
// are gone, and does not wait for hours.
func ExampleEngine_RollShards() {
	ctx := context.Background()

	dir, err := os.MkdirTemp("", "engine")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	engine, err := embedded.Open(embedded.Config{Dir: dir})
	check(err)

	db, reader := dynamodb.NewFromConfig(engine.AWSConfig()), dynamodbstreams.NewFromConfig(engine.AWSConfig())
	name, key, on := "orders", "id", true

	created, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: &on, StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	check(err)

	stream := *created.TableDescription.LatestStreamArn
	shards := func() (open, closed int, last string) {
		out, err := reader.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &stream})
		check(err)

		for _, s := range out.StreamDescription.Shards {
			if last = *s.ShardId; s.SequenceNumberRange.EndingSequenceNumber == nil {
				open++
			} else {
				closed++
			}
		}

		return open, closed, last
	}

	check(engine.RollShards(ctx, stream))
	open, closed, last := shards()
	fmt.Println("rolled:", open, "open,", closed, "closed")

	check(engine.SplitShard(ctx, stream, last))
	open, closed, last = shards()
	fmt.Println("split:", open, "open,", closed, "closed")

	resume, err := engine.StallShard(ctx, stream, last)
	check(err)
	resume()

	engine.ShiftClock(time.Hour)
	check(engine.TrimStream(ctx, stream, embedded.TrimPoint{}))
	open, closed, _ = shards()
	fmt.Println("trimmed:", open, "open,", closed, "closed")

	check(engine.Close())
	fmt.Println("closed:", errors.Is(engine.RollShards(ctx, stream), embedded.ErrClosed))
	// Output:
	// rolled: 1 open, 1 closed
	// split: 2 open, 2 closed
	// trimmed: 2 open, 0 closed
	// closed: true
}
