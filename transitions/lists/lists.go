package lists

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where the lists are kept. All fields are required.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Orders are the orders that are listed.
	Orders *transitions.Orders
}

func (c Config) validate() error {
	var errs []error
	if c.DynamoDB == nil {
		errs = append(errs, errors.New("lists: Config.DynamoDB: must be set"))
	}

	if c.Table == "" {
		errs = append(errs, errors.New("lists: Config.Table: must be set"))
	}

	if c.Orders == nil {
		errs = append(errs, errors.New("lists: Config.Orders: must be set"))
	}

	return errors.Join(errs...)
}

// The key attributes of the table.
const (
	listAttribute  = "listKey"
	placeAttribute = "placeKey"
)

// erasedAttribute marks the row of an order in the list of its state, if its person was erased.
const erasedAttribute = "erased"

// ExpiryAttribute is the attribute of the table's time to live. Only tombstones have it.
const ExpiryAttribute = "expiresAt"

// tombstoneFor is how long the tombstone of a deleted order is kept: longer than a record
// of the stream can be late.
const tombstoneFor = 30 * 24 * time.Hour

// TableInput describes the table of lists: keys listKey and placeKey, and an expiry in
// [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(listAttribute), dynamo.TextKey(placeAttribute))
}

// Lists keeps the lists of one table. It is safe for concurrent use.
type Lists struct {
	cfg    Config
	writer *txn.Writer
}

// New checks cfg and returns its lists.
func New(cfg Config) (*Lists, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	// Because txn knows the keys, it refuses a transaction that writes one row twice before it is
	// sent.
	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Keys: map[string][]string{cfg.Table: {listAttribute, placeAttribute}}})
	if err != nil {
		return nil, err
	}

	return &Lists{cfg: cfg, writer: writer}, nil
}

// row is the key of an item.
type row struct{ list, place string }

func (r row) key() dynamo.Item {
	return dynamo.Item{listAttribute: dynamo.S(r.list), placeAttribute: dynamo.S(r.place)}
}

func (l *Lists) get(ctx context.Context, r row, consistent bool) (dynamo.Item, error) {
	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &l.cfg.Table,
		Key:            r.key(),
		ConsistentRead: aws.Bool(consistent),
	})
	if err != nil {
		return nil, err
	}

	return out.Item, nil
}
