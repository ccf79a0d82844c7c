package transitions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// dynamo is what this package calls of a *dynamodb.Client.
type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config says where orders live. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table holds the orders, JournalTable their history. Without a JournalTable a
	// request older than the ring ends in ErrEvidenceGone.
	Table, JournalTable string
	// Journal says who writes the JournalTable: the stream's reader (the default), or
	// the transition itself.
	Journal JournalMode
	// Definition is what orders may do. Default: workflow.Order().
	Definition *workflow.Definition
	// Versions are other versions of the definition whose orders may be moved as if
	// they were of this one, as while two versions of the workers run side by side. An
	// order of any other version is ErrUnknownVersion.
	Versions []int
	// Attempts bounds how often a write with an unknown outcome is sent again, and
	// how often an id is assigned afresh after a lost race. Default 8.
	Attempts int
	// EditMemory is how many edits an order remembers, so that a repeated one is
	// Replayed: when it is full, the oldest quarter is forgotten. 4 to 64, default 32.
	// Each takes about 80 bytes of the item.
	EditMemory int
	// EditAge is after what time an edit may be forgotten although there is room.
	// At least a minute, default 7 days.
	EditAge time.Duration
	// Log gets one debug line per verdict. Default: slog.Default().
	Log *slog.Logger
	// Decided, when set, is called with every verdict, for counting. It is called
	// from the caller's goroutine and must not block.
	Decided func(OrderID, workflow.Event, Verdict)
	// Edited, when set, is called with the verdict of every edit, like Decided.
	Edited func(OrderID, EditKind, Verdict)
	// Consumed, when set, is called with the capacity units of every Apply, Create and
	// edit that ended in a verdict, all their requests added up. DynamoDB bills a
	// failed condition like a write, but reports no units with it: those are not in.
	Consumed func(id OrderID, v Verdict, readUnits, writeUnits float64)
	// Now stamps what is written; no verdict on a transition reads it. Default: time.Now.
	Now func() time.Time
}

// Orders applies transitions. Its methods may be called from many goroutines.
type Orders struct {
	cfg      Config
	def      *workflow.Definition
	editable []workflow.State
	versions []int                // known ones, the definition's first
	version  types.AttributeValue // the definition's
	sources  sources
}

// New checks cfg and returns the orders behind it.
func New(cfg Config) (*Orders, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("transitions: Config.DynamoDB is nil")
	case cfg.Table == "":
		return nil, errors.New("transitions: Config.Table is empty")
	case cfg.Attempts < 0:
		return nil, errors.New("transitions: Config.Attempts is negative")
	case cfg.Journal > JournalTransactional:
		return nil, fmt.Errorf("transitions: Config.Journal: %s is not known", cfg.Journal)
	case cfg.Journal == JournalTransactional && cfg.JournalTable == "":
		return nil, errors.New("transitions: Config.Journal is transactional and Config.JournalTable is empty")
	case cfg.EditMemory != 0 && (cfg.EditMemory < 4 || cfg.EditMemory > 64):
		return nil, fmt.Errorf("transitions: Config.EditMemory %d: 4 to 64", cfg.EditMemory)
	case cfg.EditAge != 0 && cfg.EditAge < time.Minute:
		return nil, fmt.Errorf("transitions: Config.EditAge %s: at least a minute", cfg.EditAge)
	}

	if cfg.Definition == nil {
		cfg.Definition = workflow.Order()
	}

	if cfg.Attempts == 0 {
		cfg.Attempts = 8
	}

	if cfg.EditMemory == 0 {
		cfg.EditMemory = 32
	}

	if cfg.EditAge == 0 {
		cfg.EditAge = 7 * 24 * time.Hour
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	versions, err := knownVersions(cfg)
	if err != nil {
		return nil, err
	}

	return &Orders{cfg: cfg, def: cfg.Definition, editable: editableIn(cfg.Definition), versions: versions,
		version: dynamo.N(int64(versions[0])), sources: newSources(len(cfg.Definition.States()))}, nil
}

// decided tells the log and the counter of a verdict.
func (o *Orders) decided(ctx context.Context, r Request, v Verdict) {
	if o.cfg.Decided != nil {
		o.cfg.Decided(r.OrderID, r.Event, v)
	}

	if !o.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		return // spares the arguments' allocations
	}
	o.cfg.Log.DebugContext(ctx, "transition", "order", r.OrderID, "event", r.Event,
		"transition", r.TransitionID, "request", r.RequestID, "verdict", v)
}

// Definition is what these orders may do.
func (o *Orders) Definition() *workflow.Definition { return o.def }
