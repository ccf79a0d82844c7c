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

type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config says where parked tasks are kept. Both fields must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
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

// TableInput describes the table of parked tasks, with the key orderId. Switch its time to live on
// separately, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrOrder))
}

// Get returns the row that the executions of the order share, even if no task waits in it. It reports
// false if there is no row.
func (s *Store) Get(ctx context.Context, orderID string) (row Task, found bool, err error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.table,
		Key:            rowKey(orderID),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Task{}, false, fmt.Errorf("parked task of order %s: %w", orderID, err)
	}

	if row, err = decode(out.Item); err != nil {
		return Task{}, false, fmt.Errorf("parked task of order %s: %w", orderID, err)
	}

	return row, len(out.Item) > 0, nil
}

// Waiting returns the tasks that wait for the order, at most one.
func (s *Store) Waiting(ctx context.Context, orderID string) ([]Task, error) {
	row, _, err := s.Get(ctx, orderID)
	if err != nil || !row.waits() {
		return []Task{}, err
	}

	return []Task{row}, nil
}

// scanPage bounds the items of one Scan request.
const scanPage = 1000

// List returns up to limit waiting tasks of all orders, without their tokens and in no useful order.
// After is the OrderID of the last task of the previous page, or empty for the first page. A page with
// fewer than limit tasks is the last one. List scans the whole table, which also has rows whose tasks
// were answered.
func (s *Store) List(ctx context.Context, after string, limit int) (tasks []Task, err error) {
	in := &dynamodb.ScanInput{
		TableName:      &s.table,
		ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("attribute_exists(" + attrToken + ") AND " +
			"(attribute_not_exists(" + attrMoved + ") OR " + attrMoved + " <= " + attrSince + ")"),
		ProjectionExpression: aws.String(attrOrder + ", " + attrAwaited + ", " + attrSince + ", " +
			attrStarted + ", " + attrRedrives + ", " + attrVisits + ", " + attrRetries + ", " + attrMoved + ", " + attrMovedTo),
	}
	if after != "" {
		in.ExclusiveStartKey = rowKey(after)
	}

	for len(tasks) < limit {
		// A page of limit rows could need as many requests as the table has rows whose tasks were answered.
		in.Limit = aws.Int32(scanPage)

		out, err := s.db.Scan(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list parked tasks: %w", err)
		}

		for _, item := range out.Items {
			// One row that cannot be read does not hide the others: Get and Moved name what is wrong with it.
			if task, err := decode(item); err == nil {
				tasks = append(tasks, task)
			}
		}

		// A page may be empty before the end of the table: the filter drops items after the page was read.
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	return tasks[:min(len(tasks), limit)], nil
}

// Remove takes the task's token out of the table. If another token has been parked in its place, that
// token stays. The row stays until it expires, so that a late write cannot restore an older token.
// Remove succeeds if the token is absent.
func (s *Store) Remove(ctx context.Context, task Task) error {
	if err := s.remove(ctx, task); err != nil {
		return fmt.Errorf("remove the parked task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

func (s *Store) remove(ctx context.Context, task Task) error {
	update := dynamo.NewUpdate(s.table, rowKey(task.OrderID)).
		IfEquals(attrToken, dynamo.S(string(task.Token))).
		RemoveAttribute(attrToken).
		SetValue(ExpiryAttribute, dynamo.Seconds(time.Now().Add(Retention)))

	_, err := s.db.UpdateItem(ctx, update.Input())
	// Another token was parked in its place, or the token was removed before.
	if _, replaced := dynamo.FailedCondition(err); replaced {
		return nil
	}

	return err
}
