package tasktoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/dynamo"
)

type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

type heartbeats interface {
	SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error)
}

// Config says where parked tasks are kept. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is one that [TableInput] describes.
	Table string
	// SFN tells [Store.Park] whether a task is alive. Without it, Park fails where another
	// token is parked.
	SFN heartbeats
}

// Store is the table of parked tasks. Its methods may be called from many goroutines.
type Store struct {
	db    dynamoDB
	sfn   heartbeats
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

	return &Store{db: cfg.DynamoDB, sfn: cfg.SFN, table: cfg.Table}, nil
}

// TableInput describes the table of parked tasks: keys orderId and awaitedState. Expiry is
// switched on apart from it, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrOrder), dynamo.TextKey(attrAwaited))
}

// Get returns the row that the executions of the order share, whether a task waits in it
// or not.
func (s *Store) Get(ctx context.Context, orderID string) (row Task, found bool, err error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.table,
		Key:            rowKey(orderID, RowKey),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Task{}, false, fmt.Errorf("parked task of order %s: %w", orderID, err)
	}

	return decode(out.Item), len(out.Item) > 0, nil
}

// Waiting returns the tasks that wait for the order: at most one of the present state
// machine, and one per state that [Store.Park] stored.
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

	tasks := []Task{}
	for _, item := range out.Items {
		if task := decode(item); task.waits() {
			tasks = append(tasks, task)
		}
	}

	return tasks, nil
}

// scanPage bounds the items of one Scan request.
const scanPage = 1000

// List returns up to limit waiting tasks of all orders, without their tokens and in no
// useful order. It continues behind the task after, which is the zero Task for the first
// page. Fewer than limit tasks are the last ones. It scans the table, with the rows of
// tasks that were answered.
func (s *Store) List(ctx context.Context, after Task, limit int) (tasks []Task, err error) {
	in := &dynamodb.ScanInput{
		TableName:      &s.table,
		ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("attribute_exists(" + attrToken + ") AND " +
			"(attribute_not_exists(" + attrMoved + ") OR " + attrMoved + " <= " + attrSince + ")"),
		ProjectionExpression: aws.String(attrOrder + ", " + attrAwaited + ", " + attrSince + ", " + attrState + ", " +
			attrStarted + ", " + attrRedrives + ", " + attrVisits + ", " + attrRetries + ", " + attrMoved + ", " + attrMovedTo),
	}
	if after.OrderID != "" {
		in.ExclusiveStartKey = after.key()
	}

	for len(tasks) < limit {
		// With a smaller page, a table of many answered tasks would need as many requests.
		in.Limit = aws.Int32(scanPage)

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

	return tasks[:min(len(tasks), limit)], nil
}

// Remove takes the token out of the table, unless another token has been parked in its
// place. The row of the order's executions stays until it expires, so that a late write
// cannot restore an older token. Removing an absent token succeeds.
func (s *Store) Remove(ctx context.Context, task Task) error {
	if err := s.remove(ctx, task); err != nil {
		return fmt.Errorf("remove the parked task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

func (s *Store) remove(ctx context.Context, task Task) (err error) {
	if task.shared() {
		update := dynamo.NewUpdate(s.table, task.key()).
			IfEquals(attrToken, dynamo.S(string(task.Token))).
			RemoveAttribute(attrToken).
			SetValue(ExpiryAttribute, dynamo.Seconds(time.Now().Add(Retention)))
		_, err = s.db.UpdateItem(ctx, update.Input())
	} else {
		_, err = s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName:                 &s.table,
			Key:                       task.key(),
			ConditionExpression:       aws.String(attrToken + " = :token"),
			ExpressionAttributeValues: dynamo.Item{":token": dynamo.S(string(task.Token))},
		})
	}

	if _, replaced := dynamo.FailedCondition(err); replaced {
		return nil
	}

	return err
}
