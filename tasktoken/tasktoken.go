package tasktoken

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Token is a task token.
type Token string

// String is a short digest, enough to tell two tokens apart in a log.
func (t Token) String() string {
	sum := sha256.Sum256([]byte(t))
	return hex.EncodeToString(sum[:4])
}

// LogValue is String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Task is one parked task.
type Task struct {
	OrderID, Awaited string
	// Since is the transition that the waiting execution knew of: the order may have
	// passed through the awaited state after it, before anybody parked.
	Since int64
	Token Token
}

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Tasks is the table of parked tasks. Its methods may be called from many goroutines.
type Tasks struct {
	db    dynamoDB
	table string
}

// New returns the parked tasks in the table.
func New(db dynamoDB, table string) *Tasks { return &Tasks{db: db, table: table} }

type image = dynamo.Item

// ExpiryAttribute holds the epoch second after which TTL may delete a task.
const ExpiryAttribute = "expiresAt"

// Park stores the token until the order reaches the awaited state. expires is when
// the task has timed out for sure.
func (t *Tasks) Park(ctx context.Context, task Task, expires time.Time) error {
	_, err := t.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: image{
		"orderId": dynamo.S(task.OrderID), "awaitedState": dynamo.S(task.Awaited), "taskToken": dynamo.S(string(task.Token)), "since": dynamo.N(task.Since),
		ExpiryAttribute: &types.AttributeValueMemberN{Value: strconv.FormatInt(expires.Unix(), 10)},
	}})
	if err != nil {
		return fmt.Errorf("park the task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

// Waiting returns the tasks parked for the order. There are at most as many as the
// definition has states.
func (t *Tasks) Waiting(ctx context.Context, orderID string) ([]Task, error) {
	out, err := t.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &t.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("orderId = :order"),
		ExpressionAttributeValues: image{":order": dynamo.S(orderID)},
	})
	if err != nil {
		return nil, fmt.Errorf("parked tasks of order %s: %w", orderID, err)
	}

	tasks := make([]Task, len(out.Items))
	for i, item := range out.Items {
		tasks[i] = decode(item)
	}

	return tasks, nil
}

func decode(item image) Task {
	return Task{OrderID: dynamo.Text(item, "orderId"), Awaited: dynamo.Text(item, "awaitedState"), Since: dynamo.Number(item, "since"),
		Token: Token(dynamo.Text(item, "taskToken"))}
}

// List returns up to limit tasks of all orders, without their tokens and in no useful
// order, behind the task after (the zero Task for the first); fewer than limit are the
// last. It reads the table from there on.
func (t *Tasks) List(ctx context.Context, after Task, limit int) (tasks []Task, err error) {
	in := &dynamodb.ScanInput{TableName: &t.table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("orderId, awaitedState, since")}
	if after.OrderID != "" {
		in.ExclusiveStartKey = image{"orderId": dynamo.S(after.OrderID), "awaitedState": dynamo.S(after.Awaited)}
	}

	for len(tasks) < limit {
		in.Limit = aws.Int32(int32(min(limit-len(tasks), 1000)))

		out, err := t.db.Scan(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list parked tasks: %w", err)
		}

		for _, item := range out.Items {
			tasks = append(tasks, decode(item))
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	return tasks, nil
}

// Remove forgets the task, unless another token has been parked in its place.
func (t *Tasks) Remove(ctx context.Context, task Task) error {
	_, err := t.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.table, Key: image{"orderId": dynamo.S(task.OrderID), "awaitedState": dynamo.S(task.Awaited)},
		ConditionExpression: aws.String("taskToken = :token"), ExpressionAttributeValues: image{":token": dynamo.S(string(task.Token))},
	})
	var replaced *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &replaced) {
		return fmt.Errorf("remove the parked task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

// TableInput describes the table of parked tasks: keys orderId and awaitedState.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("orderId"), dynamo.TextKey("awaitedState"))
}
