// Package embedded is an engine in the same process that speaks the wire
// protocols of DynamoDB, DynamoDB Streams and Step Functions and keeps its data
// on disk.
package embedded

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Config says where the engine keeps its data and under which names it answers.
// Only Dir must be set.
type Config struct {
	// Dir is the data directory; it is created when it does not exist. One
	// engine at a time may have it open.
	Dir string
	// Region and AccountID stand in the ARNs. Defaults: "us-east-1", "000000000000".
	Region, AccountID string
	// Log gets the engine's own faults. Default: slog.Default().
	Log *slog.Logger
}

// Engine is an open engine. Close it when Run has returned.
type Engine struct {
	cfg     Config
	db      *store.DB
	handler *wire.Handler
	close   sync.Once
}

// Open opens the engine over cfg.Dir and recovers what was acknowledged before.
func Open(cfg Config) (*Engine, error) {
	if cfg.Dir == "" {
		return nil, errors.New("open engine: Config.Dir is empty")
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if cfg.AccountID == "" {
		cfg.AccountID = "000000000000"
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	db, err := store.Open(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, err
	}
	return &Engine{cfg: cfg, db: db, handler: wire.NewHandler(cfg.Log)}, nil
}

// Run drives what happens without a caller: timers of executions, expiry of
// items, the life of stream shards. It returns nil once ctx ends.
func (e *Engine) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Handler serves all three services, for a listener.
func (e *Engine) Handler() http.Handler { return e.handler }

// HTTPClient reaches the engine without a socket, for aws.Config.HTTPClient.
func (e *Engine) HTTPClient() *http.Client { return wire.InProcess(e.handler) }

// Close releases the data directory. Calls still running fail.
func (e *Engine) Close() (err error) {
	e.close.Do(func() { err = e.db.Close() })
	return err
}
