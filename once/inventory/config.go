package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where stock is kept. DynamoDB, Table and DueTable must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// DueTable is the name of a table as [DueTableInput] describes it. It lists the
	// reservations that expire, sorted by the time of their expiry.
	DueTable string
	// Events observes the sweeps of Run. Default none.
	Events Events
	// Now is the clock of this machine, for tests. Default time.Now. It may be wrong: ends are
	// compared with the time that the answers of DynamoDB state.
	Now func() time.Time

	// every is how often Run sweeps, and how long a reservation that could not be ended is
	// postponed. Default 1 min.
	every time.Duration
}

// margin is more than the times of two callers may differ, because an answer states the time in
// whole seconds. A reservation is swept only that long after it has expired.
const margin = 2 * time.Second

// Events observes a [Stock]. Nil functions are not called; none may block.
type Events struct {
	// Swept is called after each sweep of [Stock.Run] with the results of
	// [Stock.ExpireDue]: the number of due reservations and the error.
	Swept func(count int, err error)
}

// withDefaults fills in the zero values and reports every fault of the configuration.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			faults = append(faults, fmt.Errorf("inventory: Config."+format, args...))
		}
	}

	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Table != "", "Table: must be set")
	require(c.DueTable != "", "DueTable: must be set")

	if c.every == 0 {
		c.every = time.Minute
	}

	if c.Events.Swept == nil {
		c.Events.Swept = func(int, error) {}
	}

	return c, errors.Join(faults...)
}

// Stock is the inventory behind one table. Its methods may be called from many
// goroutines.
type Stock struct {
	cfg    Config
	clock  *dynamo.Clock
	writer *txn.Writer
	due    *due.Table
}

// New checks cfg and returns the stock.
func New(cfg Config) (*Stock, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	clock := &dynamo.Clock{Local: cfg.Now}

	writer, err := txn.New(txn.Config{
		DynamoDB: cfg.DynamoDB,
		Clock:    clock,
		Keys: map[string][]string{
			cfg.Table:    {skuKey},
			cfg.DueTable: due.KeyNames(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}

	rows := &due.Table{Name: cfg.DueTable, DynamoDB: cfg.DynamoDB, Clock: clock, First: cfg.every}

	return &Stock{cfg: cfg, clock: clock, writer: writer, due: rows}, nil
}
