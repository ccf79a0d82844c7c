package scheduled

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/time/rate"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where the requests are kept. DynamoDB, Table, DueTable and Orders must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// DueTable has the due rows. It is the table of package timers.
	DueTable string
	// Orders are the orders that the requests move.
	Orders *transitions.Orders
	// Log gets a line for each request whose application ended in an error that does not pass. Default: slog.Default().
	Log *slog.Logger
	// Ended is called for each request that a sweep of this process has ended, with how late it was. Default none.
	Ended func(Request, time.Duration)
	// Attempts is how often one call sends a write that has no answer, or that conflicts with others. 1 to 100, default 8.
	Attempts int
	// Now is the clock of this machine, which may be wrong: times are compared with the time that the answers of
	// DynamoDB state. Default time.Now.
	Now func() time.Time
	// PerSecond bounds how many due requests this process handles per second, so that other work has room beside
	// a rush. Default no bound.
	PerSecond float64
}

const (
	// mostWaiting is how many requests of one life of an order may wait at the same time.
	mostWaiting = 1000
	// furthest is how far ahead a request may be.
	furthest = 366 * 24 * time.Hour
	// grace is how long a time may be past when a request for it is placed: clocks differ, and calls take time.
	grace = time.Minute
	// kept is how long an ended request is kept.
	kept = 30 * 24 * time.Hour

	// kind is the kind of the due rows.
	kind = "scheduled"
	// margin is more than the times of two machines may differ, because an answer states the time in whole seconds.
	margin = 2 * time.Second
	// A request that could not be applied is tried again after a minute, then after two, and in the end once an hour.
	firstRetry, lastRetry = time.Minute, time.Hour
	// mostTries is how often a request is tried that ends in an error that does not pass by itself, such as a version
	// of the definition that no worker knows: for about eight days.
	mostTries       = 200
	defaultAttempts = 8
	// parallel is how many rows one sweep handles at the same time.
	parallel = 8
	// rounds is how often a write is planned again that others have overtaken.
	rounds = 8
)

// Schedule keeps the requests and applies them. It is safe for concurrent use.
type Schedule struct {
	cfg    Config
	clock  *dynamo.Clock
	rows   *due.Table
	pace   *rate.Limiter
	writer *txn.Writer
}

// New checks cfg and returns the schedule.
func New(cfg Config) (*Schedule, error) {
	var faults []error
	require := func(holds bool, rule string) {
		if !holds {
			faults = append(faults, errors.New("scheduled: Config."+rule))
		}
	}

	require(cfg.DynamoDB != nil, "DynamoDB: must be set")
	require(cfg.Table != "", "Table: must be set")
	require(cfg.DueTable != "", "DueTable: must be set")
	require(cfg.Orders != nil, "Orders: must be set")
	require(cfg.PerSecond >= 0, "PerSecond: must not be negative")

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	if cfg.Ended == nil {
		cfg.Ended = func(Request, time.Duration) {}
	}

	clock := &dynamo.Clock{Local: cfg.Now}
	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Clock: clock, Attempts: cmp.Or(cfg.Attempts, defaultAttempts)})

	return &Schedule{
		cfg: cfg, clock: clock, writer: writer, pace: due.PerSecond(cfg.PerSecond),
		rows: &due.Table{Name: cfg.DueTable, DynamoDB: cfg.DynamoDB, Clock: clock, First: firstRetry, Most: lastRetry},
	}, err
}

// TableInput describes the table of requests: keys orderId and entry.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrOrder), dynamo.TextKey(attrEntry))
}
