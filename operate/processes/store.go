package processes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Config says where the rows are. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Log gets heartbeats that fail, at most one line a minute. Default: slog.Default().
	Log *slog.Logger
}

// Store is the table of the processes. Its methods may be called from many goroutines.
type Store struct{ cfg Config }

// New checks cfg and returns the store.
func New(cfg Config) (*Store, error) {
	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, errors.New("processes: Config.DynamoDB: must be set"))
	}

	if cfg.Table == "" {
		faults = append(faults, errors.New("processes: Config.Table: must be set"))
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	return &Store{cfg}, errors.Join(faults...)
}

// TableInput describes the table of the processes. Its keys are kind and id.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(kindKey), dynamo.TextKey(idKey))
}

// maxRows bounds how many rows are read. A row lives for an hour after its last beat, so most rows
// are of running processes.
const maxRows = 2000

// read returns the rows in the order of their ids. A row of a version that cannot be decoded is
// left out.
func (s *Store) read(ctx context.Context) ([]dynamo.Item, error) {
	pages := dynamodb.NewQueryPaginator(s.cfg.DynamoDB, &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		KeyConditionExpression:    ptr("#kind = :kind"),
		ExpressionAttributeNames:  map[string]string{"#kind": kindKey},
		ExpressionAttributeValues: dynamo.Item{":kind": dynamo.S(processKind)},
	})

	var rows []dynamo.Item

	// Processes that start and die in a loop leave many rows; the bound keeps a look cheap.
	for pages.HasMorePages() && len(rows) < maxRows {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("processes: read table %s: %w", s.cfg.Table, err)
		}
		rows = append(rows, page.Items...)
	}

	return rows, nil
}

// row reads a row of the table, nil if it is not there. what names it in errors.
func (s *Store) row(ctx context.Context, key dynamo.Item, what string) (dynamo.Item, error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: key, ConsistentRead: ptr(true)})
	if err != nil {
		return nil, fmt.Errorf("processes: read %s: %w", what, err)
	}

	return out.Item, nil
}

func ptr[T any](v T) *T { return &v }
