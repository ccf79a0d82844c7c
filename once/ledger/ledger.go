package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/once/txn"
)

// dynamoDB has the methods of the SDK's client that this package calls.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Tables are the names of the ledger's tables. All must be set.
type Tables struct{ Accounts, Entries, Transfers, Holds string }

// Inputs describe the tables, with the keys accountId; accountId and sequence;
// transferId; accountId and holdId.
func (t Tables) Inputs() []*dynamodb.CreateTableInput {
	return []*dynamodb.CreateTableInput{
		dynamo.Table(t.Accounts, dynamo.TextKey("accountId")),
		dynamo.Table(t.Entries, dynamo.TextKey("accountId"), dynamo.NumberKey("sequence")),
		dynamo.Table(t.Transfers, dynamo.TextKey("transferId")),
		dynamo.Table(t.Holds, dynamo.TextKey("accountId"), dynamo.TextKey("holdId")),
	}
}

// keys returns the names of the key attributes by table.
func (t Tables) keys() map[string][]string {
	return map[string][]string{
		t.Accounts:  {"accountId"},
		t.Entries:   {"accountId", "sequence"},
		t.Transfers: {"transferId"},
		t.Holds:     {"accountId", "holdId"},
	}
}

// Config configures a [Ledger].
type Config struct {
	// DynamoDB and all of Tables are required.
	DynamoDB dynamoDB
	Tables   Tables
	// Now is the clock of this machine, for tests. Default time.Now. It may be wrong: records are
	// stamped, and the ends of holds compared, with the time that the answers of DynamoDB state.
	Now func() time.Time
	// Consumed is called with the capacity that each written transaction consumed, in
	// capacity units. It must not block. Default none.
	Consumed func([]types.ConsumedCapacity)

	// attempts is how often one call plans its transaction at most when other calls keep
	// changing the same accounts. Default 100.
	attempts int
}

const defaultAttempts = 100

func (c *Config) check() error {
	if c.attempts == 0 {
		c.attempts = defaultAttempts
	}

	var faults []error
	if c.DynamoDB == nil {
		faults = append(faults, errors.New("ledger: Config.DynamoDB: must be set"))
	}

	if t := c.Tables; t.Accounts == "" || t.Entries == "" || t.Transfers == "" || t.Holds == "" {
		faults = append(faults, errors.New("ledger: Config.Tables: Accounts, Entries, Transfers and Holds must be set"))
	}

	return errors.Join(faults...)
}

// Ledger reads and writes the money in the tables. It is safe for concurrent use. Any
// number of processes may have a Ledger on the same tables.
type Ledger struct {
	cfg    Config
	clock  *dynamo.Clock
	writer *txn.Writer
	cache  accountCache
	locks  stripedLock
}

// New returns a Ledger. The error names every field that breaks a rule.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	clock := &dynamo.Clock{Local: cfg.Now}

	writer, err := txn.New(txn.Config{
		DynamoDB: cfg.DynamoDB,
		Consumed: cfg.Consumed,
		Keys:     cfg.Tables.keys(),
		Clock:    clock,
	})
	if err != nil {
		return nil, err
	}

	return &Ledger{cfg: cfg, clock: clock, writer: writer, locks: newStripedLock()}, nil
}

// get reads an item; nil if there is none.
func (l *Ledger) get(ctx context.Context, table string, key dynamo.Item) (dynamo.Item, error) {
	began := l.clock.LocalNow()

	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &table,
		Key:            key,
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}

	l.clock.Hear(began, out.ResultMetadata, nil)

	return out.Item, nil
}

// learn makes sure that the clock has heard DynamoDB before the end of a hold is compared. It reads
// an item at most once in the life of the Ledger.
func (l *Ledger) learn(ctx context.Context) error {
	return l.clock.Learn(ctx, func(ctx context.Context) error {
		_, err := l.get(ctx, l.cfg.Tables.Holds, holdKey("-", "-")) // any key
		return err
	})
}

// eachAttempt calls set before each attempt of a transaction that compares the end of a hold, with
// the time of the attempt.
func (l *Ledger) eachAttempt(t *txn.Transaction, set func(now time.Time)) {
	t.EachAttempt(func(ctx context.Context) error {
		if err := l.learn(ctx); err != nil {
			return err
		}

		set(l.clock.Now())

		return nil
	})
}

// TxPart adds parts of the caller's own to a transaction of the ledger: all are written or
// none. The ledger calls it once for each attempt, so it may run several times in one
// call. If one of its parts fails, the call returns that part's *txn.CanceledError; it outranks
// the refusal of an account.
type TxPart func(*txn.Transaction)

// waitBeforeRetry waits with full jitter up to 1 ms * 2^attempt, at most 64 ms. One of the
// calls that lost a race can go on at once, so longer waits would only leave the account
// idle. It reports false if ctx ends first.
func waitBeforeRetry(ctx context.Context, attempt int) bool {
	return worker.WaitRetry(ctx, attempt, time.Millisecond, 64*time.Millisecond)
}

// contended returns the error of a call that lost the race for its accounts in every
// attempt. Nothing was written.
func contended(ctx context.Context, op, id string) error {
	return errors.Join(fmt.Errorf("%s %s: %w", op, id, txn.ErrContended), context.Cause(ctx))
}
