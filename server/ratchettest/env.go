package ratchettest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Config says what [Start] starts. The zero Config runs the built-in definition of
// orders with one worker.
type Config struct {
	// Server configures the server. Start fills its empty fields: Data and Notify are
	// files in the test's temporary directory, CarrierDelay is 1 ms.
	Server server.Config
	// NoWorker leaves the worker, the stream poller and the carrier out: the tables
	// exist, and nothing reacts to transitions. Default: they run.
	NoWorker bool
	// Log gets the server's log. Default: it is discarded.
	Log *slog.Logger
	// Patience is how long a Want method waits. Default: 20 s. In a synctest bubble it is
	// the bubble's time and should exceed the delays of the test.
	Patience time.Duration
	// Repeats allows that a notification is sent again under its key, with the same content. Without it,
	// a repeat fails the test. Set it
	// in a test with faults: a fault between a notification and the record of its
	// delivery makes the repeat necessary. The receiver acts once because it honors the key.
	Repeats bool
}

// Env is a Ratchet that runs in a test.
type Env struct {
	// Backend is the server: its parts (Orders, Stock, Payments, …), its SDK clients
	// and, as Engine, the engine.
	Backend *server.Backend

	t    testing.TB
	core *core
}

// core is shared by an Env and the Envs that With makes of it.
type core struct {
	notifications string // the file that they are sent to; empty: elsewhere
	machine       string // the state machine's ARN
	patience      time.Duration
	repeats       bool // Config.Repeats
	events        broadcast

	mu       sync.Mutex
	requests int // moves so far, for their request ids
}

// Start starts a Ratchet and stops it when the test ends.
func Start(t testing.TB, cfg Config) *Env {
	t.Helper()

	env := &Env{t: t, core: &core{patience: cfg.Patience, repeats: cfg.Repeats}}
	if env.core.patience <= 0 {
		env.core.patience = 20 * time.Second
	}

	if cfg.Log == nil {
		cfg.Log = embeddedtest.Quiet()
	}

	env.fillServer(&cfg)

	backend, err := server.Embed(cfg.Server, cfg.Log, env.core.observe())
	if err != nil {
		t.Fatalf("open the server: %v", err)
	}

	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	env.Backend = backend

	env.create(cfg.NoWorker)

	// Cleanups run in reverse order: the components stop, then the last check reads
	// the tables that they left, then the server closes.
	t.Cleanup(env.checkNothingTwice)
	env.Go("engine", backend.Engine.Run)

	if !cfg.NoWorker {
		env.Go("carrier", backend.RunCarrier)
		env.Go("worker", func(ctx context.Context) error { return backend.Run(ctx, "worker") })
	}

	return env
}

// create creates the tables, the activities and the state machine. Without a worker, a definition
// that the state machine does not fit gets tables alone: its orders have no executions.
func (e *Env) create(noWorker bool) {
	e.t.Helper()

	ctx := e.t.Context()

	err := e.Backend.Init(ctx)
	switch {
	case err == nil:
		e.core.machine, err = e.Backend.StateMachineARN(ctx)
	case noWorker && errors.Is(err, server.ErrStateMachine):
		err = e.Backend.CreateTables(ctx)
	}

	if err != nil {
		e.t.Fatalf("create tables, activities and state machine: %v", err)
	}
}

// fillServer sets the empty fields of the server's configuration.
func (e *Env) fillServer(cfg *Config) {
	e.t.Helper()

	dir := e.t.TempDir()
	if cfg.Server.Data == "" {
		cfg.Server.Data = filepath.Join(dir, "data")
	}

	if cfg.Server.Notify == "" {
		// A file shows a notification that is sent twice; the sinks that honor its key
		// would hide it.
		e.core.notifications = filepath.Join(dir, "notifications.jsonl")
		cfg.Server.Notify = "file:" + e.core.notifications
	}

	if cfg.Server.CarrierDelay == 0 {
		cfg.Server.CarrierDelay = time.Millisecond
	}
}

// observe returns hooks that make waits look again after each event.
func (c *core) observe() server.Events {
	return server.Events{
		Decided: func(transitions.OrderID, workflow.Event, transitions.Verdict) { c.events.send() },
		Reacted: func(string, transitions.Change) { c.events.send() },
	}
}

// With returns the Env for another test: a subtest of the test that started it.
func (e *Env) With(t testing.TB) *Env { return &Env{Backend: e.Backend, t: t, core: e.core} }

// Go runs a component until the test ends: run gets a context that ends then, and Go's
// cleanup waits for it to return. An error fails the test. Components stop in the reverse
// of the order in which they were started.
func (e *Env) Go(name string, run func(context.Context) error) {
	e.t.Helper()

	// The test's own context ends before its cleanups, and components should drain in their cleanup.
	ctx, stop := context.WithCancel(context.WithoutCancel(e.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()

	t := e.t
	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Errorf("run %s: %v", name, err)
		}
	})
}
