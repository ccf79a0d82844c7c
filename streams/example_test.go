package streams_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/streams"
)

func ExamplePoller() {
	dir, err := os.MkdirTemp("", "streams")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = engine.Close() }()

	// The clients could as well be those of AWS.
	ctx, stop := context.WithCancel(context.Background())
	db := dynamodb.NewFromConfig(engine.AWSConfig())
	orders := &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, in := range []*dynamodb.CreateTableInput{orders, streams.LeaseTableInput("leases"), streams.DeadLetterTableInput("dead-letters")} {
		if _, err := db.CreateTable(ctx, in); err != nil {
			log.Fatal(err)
		}
	}

	for _, state := range []string{"PAID", "SHIPPED"} {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "o-1"}, "state": &types.AttributeValueMemberS{Value: state},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}

	state := func(r streams.Record) string { return r.New["state"].(*types.AttributeValueMemberS).Value }

	poller, err := streams.New(streams.Config{
		Streams: dynamodbstreams.NewFromConfig(engine.AWSConfig()), DynamoDB: db,
		TableName: "orders", LeaseTable: "leases", DeadLetterTable: "dead-letters",
		Handlers: []streams.Handler{{
			Name: "print",
			Handle: func(_ context.Context, r streams.Record) error {
				fmt.Println(r.EventName, state(r))

				if state(r) == "SHIPPED" {
					stop()
				}

				return nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}

	if err := poller.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// INSERT PAID
	// MODIFY SHIPPED
}
