package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/txn"
)

// dynamo is what this package needs of the SDK's client.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Tables are the names of the ledger's tables; all must be set.
type Tables struct{ Accounts, Entries, Transfers, Holds string }

// Inputs describe the tables: key accountId; accountId and sequence; transferId;
// accountId and holdId.
func (t Tables) Inputs() []*dynamodb.CreateTableInput {
	return []*dynamodb.CreateTableInput{
		dynamo.Table(t.Accounts, dynamo.TextKey("accountId")),
		dynamo.Table(t.Entries, dynamo.TextKey("accountId"), dynamo.NumberKey("sequence")),
		dynamo.Table(t.Transfers, dynamo.TextKey("transferId")),
		dynamo.Table(t.Holds, dynamo.TextKey("accountId"), dynamo.TextKey("holdId")),
	}
}

// Config of a [Ledger].
type Config struct {
	// DynamoDB and all of Tables are required.
	DynamoDB dynamoDB
	Tables   Tables
	// Attempts is how often one call plans anew when others have moved the same
	// accounts meanwhile: 1 to 1,000. Default 100.
	Attempts int
	// Now is the clock that stamps records and judges expiry. Default time.Now.
	Now func() time.Time
	// Consumed is told what each written transaction cost. It must not block.
	// Default nobody.
	Consumed func([]types.ConsumedCapacity)
}

// Ledger is the money behind the tables. Its methods may be called from many
// goroutines and processes.
type Ledger struct {
	cfg    Config
	writer *txn.Writer
	known  positions
	lanes  lanes
}

// New checks cfg and returns the ledger behind it.
func New(cfg Config) (*Ledger, error) {
	if cfg.Attempts == 0 {
		cfg.Attempts = 100
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	t := cfg.Tables
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("ledger: Config.DynamoDB: must be set")
	case t.Accounts == "" || t.Entries == "" || t.Transfers == "" || t.Holds == "":
		return nil, errors.New("ledger: Config.Tables: Accounts, Entries, Transfers and Holds must be set")
	case cfg.Attempts < 1 || cfg.Attempts > 1000:
		return nil, fmt.Errorf("ledger: Config.Attempts %d: 1 to 1000", cfg.Attempts)
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Consumed: cfg.Consumed, Keys: map[string][]string{
		t.Accounts: {"accountId"}, t.Entries: {"accountId", "sequence"}, t.Transfers: {"transferId"}, t.Holds: {"accountId", "holdId"}}})
	if err != nil {
		return nil, err
	}

	return &Ledger{cfg: cfg, writer: writer, lanes: newLanes()}, nil
}

// Beside adds parts of the caller's own to a transaction of the ledger: both are
// written, or none. It may be called several times for one call, once for each
// sending. A part that refuses comes back as the txn.Refused that it is, and before
// any refusal of an account.
type Beside func(*txn.Transaction)

type image = dynamo.Item

// pause waits before another attempt, with full jitter up to 1 ms * 2^attempt, at most
// 64 ms: of those who were refused, one can go on at once, so long waits only leave the
// account idle. It reports false when ctx ends first.
func pause(ctx context.Context, attempt int) bool {
	return worker.WaitJitter(ctx, time.Millisecond<<min(attempt, 6))
}

// contended says that nothing was written because others were always faster.
func contended(ctx context.Context, op, id string) error {
	return errors.Join(fmt.Errorf("%s %s: %w", op, id, txn.ErrContended), context.Cause(ctx))
}
