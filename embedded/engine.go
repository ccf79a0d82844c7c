package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/dynamodb"
	"ratchet/embedded/internal/sqs"
	"ratchet/embedded/internal/stepfunctions"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// Engine is an open engine. Its methods are safe for concurrent use. Close it after Run has
// returned.
type Engine struct {
	cfg           Config
	db            *store.DB
	dynamodb      *dynamodb.Service
	streams       *streams.Service
	stepfunctions *stepfunctions.Service
	sqs           *sqs.Service
	gate          *gate
	close         sync.Once
}

// Open opens the engine over cfg.Dir, with everything that earlier engines acknowledged
// there. It fails if another engine has the directory open.
func Open(cfg Config) (*Engine, error) {
	if err := cfg.fillDefaults(); err != nil {
		return nil, err
	}

	db, err := store.Open(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, err
	}

	e := &Engine{cfg: cfg, db: db}
	if err := e.openServices(); err != nil {
		return nil, errors.Join(fmt.Errorf("open engine in %s: %w", cfg.Dir, err), db.Close())
	}

	return e, nil
}

// openServices loads the services from the open store and puts them behind the gate.
func (e *Engine) openServices() (err error) {
	e.streams, err = streams.New(e.db, streams.Config{
		Region:        e.cfg.Region,
		AccountID:     e.cfg.AccountID,
		Log:           e.cfg.Log,
		InitialShards: e.cfg.Streams.InitialShards,
		RollEvery:     e.cfg.Streams.RollEvery,
		Retention:     e.cfg.Streams.Retention,
	})
	if err != nil {
		return err
	}

	e.dynamodb, err = dynamodb.New(e.db, e.streams, dynamodb.Config{
		Region:     e.cfg.Region,
		AccountID:  e.cfg.AccountID,
		Log:        e.cfg.Log,
		SweepEvery: e.cfg.SweepEvery,
		Consumed:   e.cfg.Consumed,
	})
	if err != nil {
		return err
	}

	e.sqs, err = sqs.New(e.db, sqs.Config{
		Region:    e.cfg.Region,
		AccountID: e.cfg.AccountID,
		Log:       e.cfg.Log,
	})
	if err != nil {
		return err
	}

	e.stepfunctions, err = stepfunctions.New(e.db, stepfunctions.Config{
		Region:    e.cfg.Region,
		AccountID: e.cfg.AccountID,
		Services:  map[string]wire.Service{"dynamodb": e.dynamodb.Wire(), "sqs": e.sqs.Wire()},
		Log:       e.cfg.Log,
	})
	if err != nil {
		return err
	}

	e.gate = newGate(wire.NewHandler(e.cfg.Log,
		e.dynamodb.Wire(), e.streams.Wire(), e.streams.AdminWire(), e.stepfunctions.Wire(), e.sqs.Wire()))

	return nil
}

// Run does what happens without a caller: it fires the timers of executions, removes
// expired items, closes and trims stream shards, and deletes old messages. It returns nil
// when ctx ends. An engine that does not run still serves every call.
func (e *Engine) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.dynamodb.Run(ctx) })
	g.Go(func() error { return e.streams.Run(ctx) })
	g.Go(func() error { return e.stepfunctions.Run(ctx) })
	g.Go(func() error { return e.sqs.Run(ctx) })

	return g.Wait()
}

// Handler returns the HTTP handler of all services, for a server on a socket.
func (e *Engine) Handler() http.Handler { return e.gate }

// Close refuses new calls, waits for running ones and releases the data directory. A
// second Close does nothing and returns nil.
func (e *Engine) Close() (err error) {
	e.close.Do(func() {
		e.gate.close()
		err = errors.Join(e.dynamodb.Close(), e.db.Close())
	})

	return err
}
