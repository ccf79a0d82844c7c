package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// What a reservation can meet.
var (
	// ErrOutOfStock: a SKU has less than was asked for, or does not exist. Nothing
	// was reserved.
	ErrOutOfStock = errors.New("out of stock")
	// ErrClosed: the order's reservation has been released, or committed, before.
	ErrClosed = errors.New("the order's reservation is closed")
	// ErrExpired: the order's reservation ran out before it was committed. It is an
	// ErrClosed, but the order may reserve again.
	ErrExpired = fmt.Errorf("%w: it has expired", ErrClosed)
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid reservation")
	// ErrConflict: the order has reserved other lines than these. It is an ErrInvalid: a
	// bug in the caller.
	ErrConflict = fmt.Errorf("%w: the order has reserved other lines", ErrInvalid)
)

type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where stock is kept. DynamoDB, Table and DueTable must be set.
type Config struct {
	DynamoDB dynamoDB
	Table    string
	// DueTable lists the reservations that expire, by when they do.
	DueTable string
	// Margin is how far the clocks of two callers may differ: an expired reservation is
	// swept only that much later. Default 2 s.
	Margin time.Duration
	// Every is how often Run looks for expired reservations. Default 1 min.
	Every time.Duration
	// Now is the callers' clock. Default time.Now.
	Now func() time.Time
}

// Stock is the inventory behind one table. Its methods may be called from many
// goroutines.
type Stock struct {
	cfg    Config
	writer *txn.Writer
}

// New checks cfg and returns the stock.
func New(cfg Config) (*Stock, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("inventory: Config.DynamoDB is nil")
	case cfg.Table == "" || cfg.DueTable == "":
		return nil, errors.New("inventory: Config.Table or DueTable is empty")
	case cfg.Margin < 0 || cfg.Every < 0:
		return nil, errors.New("inventory: Config.Margin and Every must not be negative")
	}

	if cfg.Margin == 0 {
		cfg.Margin = 2 * time.Second
	}

	if cfg.Every == 0 {
		cfg.Every = time.Minute
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Keys: map[string][]string{
		cfg.Table: {skuKey}, cfg.DueTable: {shardKey, dueKey}}})
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}

	return &Stock{cfg: cfg, writer: writer}, nil
}

// Set puts a SKU's available pieces to quantity and leaves what is reserved and
// committed as it is. For receiving goods and for demos.
func (s *Stock) Set(ctx context.Context, sku string, quantity int64) error {
	if err := validate(Line{sku, max(quantity, 1)}); err != nil || quantity < 0 {
		return errors.Join(err, fmt.Errorf("set stock of %q to %d: %w", sku, quantity, ErrInvalid))
	}

	_, err := s.cfg.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.cfg.Table, Key: key(sku),
		UpdateExpression:          aws.String("SET available = :q, reserved = if_not_exists(reserved, :zero), committed = if_not_exists(committed, :zero)"),
		ExpressionAttributeValues: image{":q": dynamo.N(quantity), ":zero": dynamo.N(0)},
	})
	if err != nil {
		return fmt.Errorf("set stock of %q: %w", sku, err)
	}

	return nil
}

// Level returns what a SKU has, and whether it is known.
func (s *Stock) Level(ctx context.Context, sku string) (Level, bool, error) {
	if err := validate(Line{sku, 1}); err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w", sku, err)
	}

	item, err := s.get(ctx, key(sku))
	if err != nil {
		return Level{}, false, fmt.Errorf("level of %q: %w", sku, err)
	}

	return Level{SKU: sku, Available: dynamo.Number(item, "available"), Reserved: dynamo.Number(item, "reserved"),
		Committed: dynamo.Number(item, "committed")}, len(item) > 0, nil
}

// Reservation returns an order's reservation as it is now, and whether there is one.
func (s *Stock) Reservation(ctx context.Context, order string) (Reservation, bool, error) {
	if err := checkOrder(order); err != nil {
		return Reservation{}, false, fmt.Errorf("reservation: %w", err)
	}

	item, err := s.get(ctx, key(orderKey(order)))
	if err != nil {
		return Reservation{}, false, fmt.Errorf("reservation of order %s: %w", order, err)
	}

	r := decode(item)
	if r.lapsed(s.cfg.Now()) {
		r.Status = Expired
	}
	r.Order = order

	return r.Reservation, len(item) > 0, nil
}

func (s *Stock) get(ctx context.Context, key image) (image, error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}

	return out.Item, nil
}
