package tasktoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Task is one parked task.
type Task struct {
	OrderID string
	// Awaited is the state that the task waits for.
	Awaited string
	// Since is the transition that the execution knew of when it parked the task. The
	// order may have passed through the awaited state after that transition and before the
	// task was parked.
	Since int64
	Token Token
}

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Config says where parked tasks are kept. Both fields must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is one that [TableInput] describes.
	Table string
}

// Store is the table of parked tasks. Its methods may be called from many goroutines.
type Store struct {
	db    dynamoDB
	table string
}

// New checks cfg and returns the store.
func New(cfg Config) (*Store, error) {
	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, errors.New("tasktoken: Config.DynamoDB: must be set"))
	}

	if cfg.Table == "" {
		faults = append(faults, errors.New("tasktoken: Config.Table: must be set"))
	}

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	return &Store{db: cfg.DynamoDB, table: cfg.Table}, nil
}

// The attributes of a parked task.
const (
	attrOrder   = "orderId"
	attrAwaited = "awaitedState"
	attrToken   = "taskToken"
	attrSince   = "since"
)

// ExpiryAttribute holds the epoch second after which TTL may delete a task.
const ExpiryAttribute = "expiresAt"

// TableInput describes the table of parked tasks: keys orderId and awaitedState. Expiry is
// switched on apart from it, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrOrder), dynamo.TextKey(attrAwaited))
}

func key(task Task) dynamo.Item {
	return dynamo.Item{attrOrder: dynamo.S(task.OrderID), attrAwaited: dynamo.S(task.Awaited)}
}

func decode(item dynamo.Item) Task {
	return Task{
		OrderID: dynamo.Text(item, attrOrder),
		Awaited: dynamo.Text(item, attrAwaited),
		Since:   dynamo.Number(item, attrSince),
		Token:   Token(dynamo.Text(item, attrToken)),
	}
}

// Park stores the task's token until the order reaches the awaited state. It replaces the
// token of an earlier attempt. TTL may delete the item after expires, which must be a time
// at which the task has certainly timed out.
func (s *Store) Park(ctx context.Context, task Task, expires time.Time) error {
	item := key(task)
	item[attrToken] = dynamo.S(string(task.Token))
	item[attrSince] = dynamo.N(task.Since)
	item[ExpiryAttribute] = dynamo.Seconds(expires)

	if _, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
		return fmt.Errorf("park the task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

// Waiting returns the tasks parked for the order: at most as many as the definition has
// states.
func (s *Store) Waiting(ctx context.Context, orderID string) ([]Task, error) {
	out, err := s.db.Query(ctx, &dynamodb.QueryInput{
		TableName:                 &s.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(attrOrder + " = :order"),
		ExpressionAttributeValues: dynamo.Item{":order": dynamo.S(orderID)},
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

// scanPage bounds the items of one Scan request.
const scanPage = 1000

// List returns up to limit tasks of all orders, without their tokens and in no useful
// order. It continues behind the task after, which is the zero Task for the first page.
// Fewer than limit tasks are the last ones. It scans the table.
func (s *Store) List(ctx context.Context, after Task, limit int) (tasks []Task, err error) {
	in := &dynamodb.ScanInput{
		TableName:            &s.table,
		ConsistentRead:       aws.Bool(true),
		ProjectionExpression: aws.String(attrOrder + ", " + attrAwaited + ", " + attrSince),
	}
	if after.OrderID != "" {
		in.ExclusiveStartKey = key(after)
	}

	for len(tasks) < limit {
		in.Limit = aws.Int32(int32(min(limit-len(tasks), scanPage)))

		out, err := s.db.Scan(ctx, in)
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

// Remove deletes the task, unless another token has been parked in its place. Removing an
// absent task succeeds.
func (s *Store) Remove(ctx context.Context, task Task) error {
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &s.table,
		Key:                       key(task),
		ConditionExpression:       aws.String(attrToken + " = :token"),
		ExpressionAttributeValues: dynamo.Item{":token": dynamo.S(string(task.Token))},
	})

	if _, replaced := dynamo.FailedCondition(err); err != nil && !replaced {
		return fmt.Errorf("remove the parked task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}
