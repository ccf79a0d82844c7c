package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lambda"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
)

// state returns the state of an order's new image.
func state(r streams.Record) string {
	s, _ := r.New["state"].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

// openTables opens an embedded engine with a table of orders, a lease table and a
// dead-letter table. With AWS, only the clients' configuration is another one.
func openTables(ctx context.Context) (cfg aws.Config, db *dynamodb.Client, done func()) {
	dir, err := os.MkdirTemp("", "streams")
	if err != nil {
		log.Fatal(err)
	}

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	db = dynamodb.NewFromConfig(engine.AWSConfig())
	orders := &dynamodb.CreateTableInput{
		TableName:            aws.String("orders"),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled:  aws.Bool(true),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}

	for _, table := range []*dynamodb.CreateTableInput{
		orders,
		leases.TableInput("leases"),
		deadletters.TableInput("dead-letters"),
	} {
		if _, err := db.CreateTable(ctx, table); err != nil {
			log.Fatal(err)
		}
	}

	return engine.AWSConfig(), db, func() {
		_ = engine.Close()
		_ = os.RemoveAll(dir)
	}
}

func putOrder(ctx context.Context, db *dynamodb.Client, state string) {
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("orders"),
		Item: map[string]types.AttributeValue{
			"id":    &types.AttributeValueMemberS{Value: "o-1"},
			"state": &types.AttributeValueMemberS{Value: state},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExamplePoller() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")
	putOrder(ctx, db, "SHIPPED")

	poller, err := poller.New(poller.Config{
		Streams:         dynamodbstreams.NewFromConfig(cfg),
		DynamoDB:        db,
		TableName:       "orders",
		LeaseTable:      "leases",
		DeadLetterTable: "dead-letters",
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

// A record that a handler gives up on is stored. When the cause is mended, it is
// redriven.
func Example_deadLetters() {
	ctx, stop := context.WithCancel(context.Background())
	cfg, db, done := openTables(ctx)
	defer done()

	putOrder(ctx, db, "PAID")

	p, err := poller.New(poller.Config{
		Streams:         dynamodbstreams.NewFromConfig(cfg),
		DynamoDB:        db,
		TableName:       "orders",
		LeaseTable:      "leases",
		DeadLetterTable: "dead-letters",
		Handlers: []streams.Handler{{
			Name: "notify",
			Handle: func(context.Context, streams.Record) error {
				return streams.Permanent(errors.New("no template for PAID"))
			},
		}},
		Events: streams.Events{
			DeadLetter: func(streams.Record, int, error) { stop() },
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}

	ctx = context.Background()
	deadLetters := deadletters.Letters{DynamoDB: db, Table: "dead-letters"}

	letters, _, err := deadLetters.List(ctx, "notify", "", 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(letters), "dead letter:", letters[0].Error)

	mended := streams.Handler{
		Name: "notify",
		Handle: func(_ context.Context, r streams.Record) error {
			fmt.Println("notified:", state(r))
			return nil
		},
	}
	if err := deadLetters.Redrive(ctx, letters[0].ID, mended); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 dead letter: no template for PAID
	// notified: PAID
}

// The same handlers run in a Lambda function; pass function.Handle to lambda.Start.
func Example_lambda() {
	function, err := lambda.New(lambda.Config{
		Handlers: []streams.Handler{{
			Name: "print",
			Handle: func(_ context.Context, r streams.Record) error {
				fmt.Println(r.EventName, state(r))
				return nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}

	event := `{"Records": [{
		"eventName": "INSERT",
		"dynamodb": {
			"SequenceNumber": "100",
			"Keys": {"id": {"S": "o-1"}},
			"NewImage": {"id": {"S": "o-1"}, "state": {"S": "PAID"}}
		}
	}]}`

	response, err := function.Handle(context.Background(), json.RawMessage(event))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(response.Failures), "failures")
	// Output:
	// INSERT PAID
	// 0 failures
}
