package transitions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/workflow"
)

// DynamoDB has the methods of a *dynamodb.Client that this package calls.
type DynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config says where orders are stored and which definition they follow. DynamoDB and Table
// must be set.
type Config struct {
	DynamoDB DynamoDB
	// Table holds the orders.
	Table string
	// Mapping says how orders stand in the table, if it is not Ratchet's own.
	Mapping Mapping
	// JournalTable holds the history of the orders. Without it, a request that is older
	// than the order's ring ends in ErrEvidenceGone.
	JournalTable string
	// RequestsTable holds the request ids that the orders' rings no longer hold. With it, a
	// request with a request id costs at most two read units and two write units, for an
	// order below 1 KB, however many transitions it has made. Without it, such a request
	// reads the order's whole journal as soon as the ring has overwritten a transition.
	RequestsTable string
	// Journal says what writes the JournalTable. Default: JournalByStream.
	Journal JournalMode
	// JournalOwn: a row of the journal also has the own attributes that its transition has set and removed. An
	// erasure removes them. Rows that were written before stay as they are.
	JournalOwn bool
	// Definition has the states and events of the orders. Default: workflow.Order().
	Definition *workflow.Definition
	// Versions are other versions of the definition. Their orders may be moved as if
	// they were of this version, while two versions of the workers run side by side. An
	// order of any other version is ErrUnknownVersion.
	Versions []int
	// Attempts is how often one call sends its write at most, after lost races and after attempts
	// without an answer together. 1 or more, default 8.
	Attempts int
	// EditMemory is how many edits an order remembers, so that a repeated one is
	// Replayed. When it is full, the oldest quarter is forgotten. Each edit takes about
	// 80 bytes of the item. 4 to 64, default 32.
	EditMemory int
	// EditAge is the age from which an edit may be forgotten although there is room.
	// At least a minute, default 7 days.
	EditAge time.Duration
	// Log gets one debug line for each verdict. Default: slog.Default().
	Log *slog.Logger
	// Events lets a program count what happens.
	Events Events
	raw    DynamoDB // DynamoDB as it was given: see Orders.Check

	// Now is the clock of this machine. The stored times are the service's, as its answers state it (see
	// internal/dynamo.Clock); no verdict on a transition depends on them. Default: time.Now.
	Now func() time.Time
}

// Events are functions that are called when something has happened, from the caller's
// goroutine. Each may be nil. They must not block.
type Events struct {
	// Begin is called before every Apply, Create and ShipParcel, with the Trace of its cause. It
	// returns the context for the call, the trace to store instead (valid or empty), and a
	// function that is called with the result.
	Begin func(ctx context.Context, id OrderID, event workflow.Event, trace string) (context.Context, string, func(Result, error))
	// Decided is called with the verdict of every Apply, Create and ShipParcel.
	Decided func(OrderID, workflow.Event, Verdict)
	// Refused is called with every answer of Apply, Create, ShipParcel and an edit that changed
	// nothing, if the order exists.
	Refused func(Refusal)
	// Consumed is called with the capacity units of every Apply, Create, ShipParcel and
	// edit that ended in a verdict: the sum over all requests of the call. DynamoDB
	// bills a failed condition like a write, but reports no units with it, so these
	// units are missing.
	Consumed func(id OrderID, v Verdict, readUnits, writeUnits float64)
}

// JournalMode says what writes the journal.
type JournalMode uint8

const (
	// JournalByStream: the reader of the orders' stream writes the rows (see
	// [Orders.Record]). A transition costs one write unit per KB and no read. The
	// journal lags behind as far as the reader does.
	JournalByStream JournalMode = iota
	// JournalTransactional: the row is written in the same TransactWriteItems as the
	// transition, so the journal never lags. A row names the state and the id before it,
	// which one write cannot copy from another item: every transition reads the order
	// first (one read unit per 4 KB) and pays double for both writes (four write units
	// for an order up to 1 KB).
	JournalTransactional
)

func (m JournalMode) String() string {
	switch m {
	case JournalByStream:
		return "stream"
	case JournalTransactional:
		return "transactional"
	}

	return fmt.Sprintf("JournalMode(%d)", uint8(m))
}

const (
	defaultAttempts   = 8
	defaultEditMemory = 32
	defaultEditAge    = 7 * 24 * time.Hour

	minEditMemory, maxEditMemory = 4, 64
	minEditAge                   = time.Minute
)

// setDefaults fills in the fields that were left zero.
func (c *Config) setDefaults() {
	if c.Definition == nil {
		c.Definition = workflow.Order()
	}

	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}

	if c.EditMemory == 0 {
		c.EditMemory = defaultEditMemory
	}

	if c.EditAge == 0 {
		c.EditAge = defaultEditAge
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	if c.Now == nil {
		c.Now = time.Now
	}
}

// check reports every field that breaks a rule.
func (c *Config) check() error {
	var faults []error
	fault := func(broken bool, format string, args ...any) {
		if broken {
			faults = append(faults, fmt.Errorf("transitions: Config."+format, args...))
		}
	}

	fault(c.DynamoDB == nil, "DynamoDB: must be set")
	fault(c.Table == "", "Table: must be set")
	fault(c.Journal > JournalTransactional, "Journal: %s is not known", c.Journal)
	fault(c.Journal == JournalTransactional && c.JournalTable == "", "JournalTable: must be set when Journal is transactional")
	fault(c.Attempts < 1, "Attempts %d: 1 or more", c.Attempts)
	fault(c.EditMemory < minEditMemory || c.EditMemory > maxEditMemory, "EditMemory %d: %d to %d", c.EditMemory, minEditMemory, maxEditMemory)
	fault(c.EditAge < minEditAge, "EditAge %s: at least %s", c.EditAge, minEditAge)

	if err := c.Mapping.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("transitions: Config.%w", err))
	} else if err := c.Mapping.checkGuards(c.Definition); err != nil {
		faults = append(faults, fmt.Errorf("transitions: Config.Definition: %w", err))
	}

	for _, v := range c.Versions {
		fault(v < 1, "Versions: %d: versions count from 1", v)
	}

	return errors.Join(faults...)
}
