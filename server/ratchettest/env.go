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
	// Server configures the server. Start fills three empty fields: Data and Notify with paths in the
	// test's temporary directory, CarrierDelay with 1 ms.
	Server server.Config
	// NoWorker leaves the worker, the stream poller and the carrier out: the tables
	// exist, and nothing reacts to transitions. Default: they run.
	NoWorker bool
	// Log gets the server's log. Default: it is discarded.
	Log *slog.Logger
	// Patience is how long a Want method waits. Default: 2 minutes. In a synctest bubble it is virtual time,
	// and should be longer than the delays of the test.
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

// core is shared by an Env and the Envs that With returns for it.
type core struct {
	notifications string // the file that notifications are sent to; empty if Server.Notify was set
	machine       string // the state machine's ARN
	patience      time.Duration
	repeats       bool // Config.Repeats
	events        broadcast

	mu       sync.Mutex
	requests int // the number of calls of Move, for their request ids
}

// Start starts a Ratchet and stops it when the test ends.
func Start(t testing.TB, cfg Config) *Env {
	t.Helper()

	env := &Env{t: t, core: &core{patience: cfg.Patience, repeats: cfg.Repeats}}
	if env.core.patience <= 0 {
		env.core.patience = 2 * time.Minute
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

	// Cleanups run in reverse order: first the components stop, then checkNothingTwice reads the tables,
	// then the server closes.
	t.Cleanup(env.checkNothingTwice)
	env.Go("engine", backend.Engine.Run)

	if !cfg.NoWorker {
		env.Go("carrier", backend.RunCarrier)
		env.Go("worker", func(ctx context.Context) error { return backend.Run(ctx, "worker") })
	}

	return env
}

// create creates the tables, the activities and the state machine. If there is no worker and the state
// machine does not fit the definition, it creates the tables only: then orders have no executions.
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
		// A file shows if a notification was sent twice. A directory has one file per key and would hide
		// that.
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

// With returns the same Env for a subtest of the test that called Start.
func (e *Env) With(t testing.TB) *Env { return &Env{Backend: e.Backend, t: t, core: e.core} }

// Go runs a component until the test ends. Run gets a context that ends at the end of the test, and the
// test then waits until run has returned. An error of run fails the test. Components are stopped one
// after the other, the last started first.
func (e *Env) Go(name string, run func(context.Context) error) {
	e.t.Helper()

	// Not the test's context: it ends before the cleanups, and components must stop one after the other in
	// these.
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
