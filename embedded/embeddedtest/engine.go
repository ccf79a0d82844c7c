package embeddedtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Open opens an engine and closes it when the test ends. The engine logs nothing and
// keeps its data in memory; each change may edit that configuration, and a test that opens its data again
// or makes a backup sets Dir. Timers, expiry and the life of stream shards need [Run] as well.
func Open(t testing.TB, changes ...func(*embedded.Config)) *embedded.Engine {
	t.Helper()

	cfg := embedded.Config{Log: Quiet()}
	for _, change := range changes {
		change(&cfg)
	}

	open := embedded.Open
	if cfg.Dir == "" {
		open = embedded.OpenInMemory
	}

	engine, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})

	return engine
}

// Run runs the engine (see [embedded.Engine.Run]) until the test ends.
func Run(t testing.TB, engine *embedded.Engine) {
	t.Helper()

	// t.Context ends before the cleanups run, and a service that is stopped in a
	// cleanup may still need the engine's timers.
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Errorf("run the engine: %v", err)
		}
	})
}

// DynamoDB opens an engine with the tables and returns a client of it.
func DynamoDB(t testing.TB, tables ...*dynamodb.CreateTableInput) *dynamodb.Client {
	t.Helper()

	db := dynamodb.NewFromConfig(Open(t).AWSConfig())
	Create(t, db, tables...)

	return db
}

// Create creates tables and fails the test if one cannot be created.
func Create(t testing.TB, db *dynamodb.Client, tables ...*dynamodb.CreateTableInput) {
	t.Helper()

	for _, table := range tables {
		if _, err := db.CreateTable(t.Context(), table); err != nil {
			t.Fatalf("create table %s: %v", aws.ToString(table.TableName), err)
		}
	}
}
