package embedded_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded"
)

// open opens an engine in a directory that close removes.
func open(cfg embedded.Config) (engine *embedded.Engine, closeEngine func()) {
	dir, err := os.MkdirTemp("", "engine")
	check(err)

	cfg.Dir = dir
	engine, err = embedded.Open(cfg)
	check(err)

	return engine, func() {
		check(engine.Close())
		check(os.RemoveAll(dir))
	}
}

// A program that takes ARNs apart, or compares them with configured ones, meets the Region and the account
// that it runs in.
func ExampleConfig() {
	engine, closeEngine := open(embedded.Config{Region: "eu-central-1", AccountID: "123456789012"})
	defer closeEngine()

	flows := sfn.NewFromConfig(engine.AWSConfig())
	pack, err := flows.CreateActivity(context.Background(), &sfn.CreateActivityInput{Name: aws.String("pack")})
	check(err)

	fmt.Println(engine.AWSConfig().Region)
	fmt.Println(*pack.ActivityArn)
	// Output:
	// eu-central-1
	// arn:aws:states:eu-central-1:123456789012:activity:pack
}

// A state machine that invokes Lambda functions runs with functions of the program.
func ExampleConfig_functions() {
	engine, closeEngine := open(embedded.Config{Functions: map[string]func(context.Context, []byte) ([]byte, error){
		"greet": func(_ context.Context, payload []byte) ([]byte, error) {
			return []byte(strings.Replace(string(payload), "name", "hello", 1)), nil
		},
	}})
	defer closeEngine()

	ctx := context.Background()
	flows := sfn.NewFromConfig(engine.AWSConfig())
	machine, err := flows.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("greeting"), Type: sfntypes.StateMachineTypeExpress, RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
		Definition: aws.String(`{"StartAt": "Greet", "States": {"Greet": {
			"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
			"Parameters": {"FunctionName": "greet", "Payload.$": "$"}, "OutputPath": "$.Payload", "End": true}}}`),
	})
	check(err)

	done, err := flows.StartSyncExecution(ctx, &sfn.StartSyncExecutionInput{StateMachineArn: machine.StateMachineArn, Input: aws.String(`{"name":"Ada"}`)})
	check(err)

	fmt.Println(done.Status, *done.Output)
	// Output: SUCCEEDED {"hello":"Ada"}
}

// AWS keeps a stream's records for a day. An engine may keep them over a weekend.
func ExampleStreamsConfig() {
	engine, closeEngine := open(embedded.Config{Streams: embedded.StreamsConfig{Retention: 72 * time.Hour, RollEvery: -1}})
	defer closeEngine()

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- engine.Run(ctx) }()

	defer func() {
		stop()
		check(<-ended)
	}()

	db, reader := dynamodb.NewFromConfig(engine.AWSConfig()), dynamodbstreams.NewFromConfig(engine.AWSConfig())
	name, key := "orders", "id"

	created, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	check(err)

	stream := created.TableDescription.LatestStreamArn
	described, err := reader.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: stream})
	check(err)

	records := func() int {
		iterator, err := reader.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: stream, ShardId: described.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		check(err)

		out, err := reader.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})
		check(err)

		return len(out.Records)
	}

	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{key: &types.AttributeValueMemberS{Value: "o-1"}}})
	check(err)

	engine.ShiftClock(60 * time.Hour)
	fmt.Println("on Monday:", records())

	engine.ShiftClock(80 * time.Hour)

	for records() > 0 { // until Run has removed it
	}
	fmt.Println("on Tuesday:", records())
	// Output:
	// on Monday: 1
	// on Tuesday: 0
}
