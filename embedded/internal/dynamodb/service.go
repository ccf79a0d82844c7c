package dynamodb

import (
	"errors"
	"log/slog"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/stripes"
	"ratchet/embedded/internal/dynamodb/tokens"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// Config configures the service. Region, AccountID and Log must be set.
type Config struct {
	Region, AccountID string
	// Consumed, if set, gets the capacity units of every call.
	Consumed func(table string, readUnits, writeUnits float64)
	// Clock tells the time. Nil means time.Now.
	Clock *clock.Clock
	Log   *slog.Logger
}

// Service serves the tables of one engine.
type Service struct {
	cfg       Config
	db        *store.DB
	streams   *streams.Service
	tables    *catalog.Catalog
	stripes   *stripes.Set
	oldTokens tokens.Cleaner // only Run uses it
	// unfinished tells Run that a request left something to it.
	unfinished chan struct{}
}

// New loads the tables that db holds. Their streams live in s.
func New(db *store.DB, s *streams.Service, cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = new(clock.Clock)
	}

	open, err := catalog.New(db, s, cfg.Region, cfg.AccountID)
	if err != nil {
		return nil, err
	}

	return &Service{cfg: cfg, db: db, streams: s, tables: open, stripes: new(stripes.Set), unfinished: make(chan struct{}, 1)}, nil
}

// Wire returns the service's operations for a handler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target:        "DynamoDB_20120810",
		ErrorPrefix:   "com.amazonaws.dynamodb.v20120810#",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Addressed:     []string{"DescribeEndpoints"},
		Operations: map[string]wire.Operation{
			"CreateTable":   operation(s.createTable),
			"DescribeTable": operation(s.describeTable),
			"UpdateTable":   operation(s.updateTable),
			"ListTables":    operation(s.listTables),
			"DeleteTable":   operation(s.deleteTable),

			"UpdateTimeToLive":   operation(s.updateTTL),
			"DescribeTimeToLive": operation(s.describeTTL),
			"TagResource":        operation(s.tagResource),
			"UntagResource":      operation(s.untagResource),
			"ListTagsOfResource": operation(s.listTags),
			"DescribeLimits":     operation(s.describeLimits),
			"DescribeEndpoints":  operation(s.describeEndpoints),

			"PutItem":    operation(s.putItem),
			"GetItem":    operation(s.getItem),
			"UpdateItem": operation(s.updateItem),
			"DeleteItem": operation(s.deleteItem),
			"Query":      operation(s.query),
			"Scan":       operation(s.scan),

			"BatchGetItem":       operation(s.batchGet),
			"BatchWriteItem":     operation(s.batchWrite),
			"TransactWriteItems": operation(s.transactWrite),
			"TransactGetItems":   operation(s.transactGetItems),

			"ExecuteStatement":      operation(s.executeStatement),
			"ExecuteTransaction":    operation(s.executeTransaction),
			"BatchExecuteStatement": operation(s.batchExecute),
		},
	}
}

// Close saves what exists only in memory. The caller closes the store. On a full disk the counts stay those of the last
// save, as after a crash: a stop does not fail by that.
func (s *Service) Close() error {
	if err := s.tables.SaveCounts(); !errors.Is(err, store.ErrFull) {
		return err
	}

	return nil
}
