package lists

import (
	"context"
	"errors"
	"fmt"
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

// readyRow exists once all orders that are older than the lists are listed.
var readyRow = row{"lists", "ready"}

// Ready reports whether the lists show all orders whose changes were handled. It is false
// until [Lists.Rebuild] has succeeded once. It costs half a read unit.
func (l *Lists) Ready(ctx context.Context) (bool, error) {
	item, err := l.get(ctx, readyRow, false)
	if err != nil {
		return false, fmt.Errorf("lists of orders: %w", err)
	}

	return item != nil, nil
}

// Rebuild lists every order of the table, and then declares the lists ready. It may run
// beside [Lists.Record], and again. It returns how many orders there were.
func (l *Lists) Rebuild(ctx context.Context, s transitions.Sweep) (orders int, err error) {
	s.Progress = func(n int) { orders = n }

	err = l.cfg.Orders.Scan(ctx, s, dynamodb.ScanInput{}, func(ctx context.Context, o *transitions.Order, err error) error {
		if err != nil {
			return err
		}

		return l.list(ctx, o)
	})
	// This is the last step, so that a rebuild that fails does not declare the lists ready.
	if err == nil {
		_, err = l.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.cfg.Table, Item: readyRow.key()})
	}

	if err != nil {
		return orders, fmt.Errorf("rebuild the lists of orders: %w", err)
	}

	return orders, nil
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
