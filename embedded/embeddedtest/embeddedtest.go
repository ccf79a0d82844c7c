// Package embeddedtest gives a test an engine of its own: real SDK clients, real
// wire protocol, data in the test's temporary directory.
package embeddedtest

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

// Quiet is a log that nobody reads.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Open opens an engine and closes it when the test has ended. Its Run is not
// started: tests that need timers or expiry call [Run].
func Open(t testing.TB) *embedded.Engine {
	t.Helper()

	engine, err := embedded.Open(embedded.Config{Dir: t.TempDir(), Log: Quiet()})
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

// Run runs the engine's timers until the test has ended.
func Run(t testing.TB, engine *embedded.Engine) {
	t.Helper()
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

// Create creates tables.
func Create(t testing.TB, db *dynamodb.Client, tables ...*dynamodb.CreateTableInput) {
	t.Helper()

	for _, table := range tables {
		if _, err := db.CreateTable(t.Context(), table); err != nil {
			t.Fatalf("create table %s: %v", aws.ToString(table.TableName), err)
		}
	}
}
