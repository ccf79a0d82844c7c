package timers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/time/rate"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Config says where the due rows are kept. DynamoDB, Table and Orders must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Orders are the orders whose transitions time makes.
	Orders *transitions.Orders
	// Log gets a line for each order that could not be moved. Default: slog.Default().
	Log *slog.Logger
	// Applied is called for each transition that this process made, with how late it was. Default none.
	Applied func(transitions.Timer, time.Duration)
	// Now is the clock of this machine, which may be wrong: moments are compared with the time that the answers of
	// DynamoDB state. Default time.Now.
	Now func() time.Time
	// PerSecond bounds how many due orders this process handles per second, so that other work has room beside
	// a rush. Default no bound.
	PerSecond float64
}

// TableInput describes the table of due rows: keys shard and due.
func TableInput(name string) *dynamodb.CreateTableInput { return due.TableInput(name) }

// kind is the kind of the rows.
const kind = "timers"

const (
	// margin is more than the times of two machines may differ, because an answer states the time in whole
	// seconds. A transition is made only that long after its moment, so that none is early.
	margin = 2 * time.Second
	// A transition that a guard refuses, or that could not be made, is tried again after a minute, then after two,
	// and in the end once an hour.
	firstRetry, lastRetry = time.Minute, time.Hour
	// parallel is how many orders one sweep moves at the same time.
	parallel = 8
)

// Timers makes the transitions that time makes. It is safe for concurrent use.
type Timers struct {
	cfg   Config
	clock *dynamo.Clock
	rows  *due.Table
	pace  *rate.Limiter
}

// New checks cfg and returns the timers.
func New(cfg Config) (*Timers, error) {
	var faults []error
	require := func(holds bool, rule string) {
		if !holds {
			faults = append(faults, errors.New("timers: Config."+rule))
		}
	}

	require(cfg.DynamoDB != nil, "DynamoDB: must be set")
	require(cfg.Table != "", "Table: must be set")
	require(cfg.Orders != nil, "Orders: must be set")
	require(cfg.PerSecond >= 0, "PerSecond: must not be negative")

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	if cfg.Applied == nil {
		cfg.Applied = func(transitions.Timer, time.Duration) {}
	}

	clock := &dynamo.Clock{Local: cfg.Now}

	return &Timers{
		cfg:   cfg,
		pace:  due.PerSecond(cfg.PerSecond),
		clock: clock,
		rows:  &due.Table{Name: cfg.Table, DynamoDB: cfg.DynamoDB, Clock: clock, First: firstRetry, Most: lastRetry},
	}, errors.Join(faults...)
}

// row returns the due row of an order: it is due when the first of its timers is. It reports false for an order
// to which time does nothing, and for none.
func (t *Timers) row(order *transitions.Order) (due.Row, bool) {
	if order == nil {
		return due.Row{}, false
	}

	all := t.cfg.Orders.Timers(order)
	if len(all) == 0 {
		return due.Row{}, false
	}

	return due.Row{
		// The life is a part of the key: a late delete of a former life leaves the row of this one.
		Kind: kind, At: all[0].At, Subject: string(order.ID), Detail: string(order.Incarnation),
		Revision: fmt.Sprintf("%d%012d", order.TransitionID, order.ContentVersion),
	}, true
}

// Record brings the due row of an order up to date. It is a handler of the orders' stream and gets the two
// images of each record. A record that is handled again changes nothing.
func (t *Timers) Record(ctx context.Context, oldImage, newImage map[string]types.AttributeValue) error {
	before, after, err := t.cfg.Orders.Mapping().Images(oldImage, newImage)
	if err != nil {
		return err
	}

	was, had := t.row(before)
	is, has := t.row(after)
	same := had && has && was.At.Equal(is.At) && was.Detail == is.Detail

	// A moment that has passed waits for a guard, and what has changed may be what it waits for.
	if has && (!same || !is.At.After(t.clock.Now())) {
		if err := t.rows.Write(ctx, is); err != nil {
			return fmt.Errorf("due row of order %s: %w", is.Subject, err)
		}
	}

	if had && !same {
		if err := t.rows.Delete(ctx, was); err != nil {
			return fmt.Errorf("due row of order %s: %w", was.Subject, err)
		}
	}

	return nil
}
