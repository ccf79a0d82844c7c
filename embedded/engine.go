package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded/faults"
	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/dynamodb"
	"ratchet/embedded/internal/sqs"
	"ratchet/embedded/internal/stepfunctions"
	"ratchet/embedded/internal/stepfunctions/lambda"
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
	clock         clock.Clock
	faults        faults.Set
	compactor     compactor
	keys          keys
	gate          *gate
	close         sync.Once
}

// Exists reports whether an engine has kept data in dir. It opens and creates nothing,
// and the data may be open elsewhere.
func Exists(dir string) (bool, error) { return store.Exists(dir) }

// ErrDamaged is the error of Open if files in the directory are damaged.
// docs/operate/backup.md says what to do.
var ErrDamaged = store.ErrDamaged

// ErrLocked is the error of Open if another process has an engine open in the directory.
var ErrLocked = store.ErrLocked

// Open opens the engine over cfg.Dir, with everything that earlier engines acknowledged there. It
// fails if another engine has the directory open, and with ErrDamaged if changes are missing.
func Open(cfg Config) (*Engine, error) { return openOn(store.Disk, cfg) }

// OpenInMemory opens an engine for tests. It makes no files, its data is gone with Close, and Backup fails. cfg.Dir
// must be empty.
func OpenInMemory(cfg Config) (*Engine, error) {
	if cfg.Dir != "" {
		return nil, errors.New("open engine: Config.Dir is not empty, and an engine in memory has no directory")
	}
	cfg.Dir, cfg.inMemory = "memory", true

	return openOn(vfs.NewMem(), cfg)
}

func openOn(fs vfs.FS, cfg Config) (*Engine, error) {
	if err := cfg.fillDefaults(); err != nil {
		return nil, err
	}

	db, err := store.Open(store.Config{Dir: cfg.Dir, Disk: fs, InMemory: cfg.inMemory, Log: cfg.Log, Failed: cfg.Failed})
	if err != nil {
		return nil, err
	}

	// The open store holds the lock of the directory: no other engine can still send a checkpoint
	// that is removed here.
	e := &Engine{cfg: cfg, db: db}
	e.keys, err = openKeys(fs, cfg.Dir, cfg.Log)

	if !cfg.inMemory {
		err = errors.Join(err, removeCheckpoints(cfg.Dir))
	}

	if err := errors.Join(err, e.openServices()); err != nil {
		return nil, errors.Join(fmt.Errorf("open engine in %s: %w", cfg.Dir, err), db.Close())
	}

	return e, nil
}

// openServices loads the services from the open store and puts them behind the gate.
func (e *Engine) openServices() (err error) {
	e.streams, err = streams.New(e.db, streams.Config{
		Region:        e.cfg.Region,
		AccountID:     e.cfg.AccountID,
		Clock:         &e.clock,
		Log:           e.cfg.Log,
		InitialShards: e.cfg.Streams.InitialShards,
		RollEvery:     e.cfg.Streams.RollEvery,
		Retention:     e.cfg.Streams.Retention,
	})
	if err != nil {
		return err
	}

	// Tables are loaded after the streams, because a table looks for its stream.
	e.dynamodb, err = dynamodb.New(e.db, e.streams, dynamodb.Config{
		Region:    e.cfg.Region,
		AccountID: e.cfg.AccountID,
		Clock:     &e.clock,
		Log:       e.cfg.Log,
		Consumed:  e.cfg.Consumed,
	})
	if err != nil {
		return err
	}

	e.sqs, err = sqs.New(e.db, sqs.Config{
		Region:    e.cfg.Region,
		AccountID: e.cfg.AccountID,
		Clock:     &e.clock,
		Log:       e.cfg.Log,
	})
	if err != nil {
		return err
	}

	// Executions call these services without withRoom: their work goes on with the room that is
	// kept back from callers.
	db, queues := e.withFaults("dynamodb", e.dynamodb.Wire()), e.withFaults("sqs", e.sqs.Wire())

	e.stepfunctions, err = stepfunctions.New(e.db, stepfunctions.Config{
		Region:    e.cfg.Region,
		AccountID: e.cfg.AccountID,
		Clock:     &e.clock,
		Services:  map[string]wire.Service{"dynamodb": db, "sqs": queues, "lambda": lambda.Service(e.cfg.functions())},
		Log:       e.cfg.Log,
	})
	if err != nil {
		return err
	}

	e.gate = newGate(e.serveBackups(wire.NewHandler(e.cfg.Log,
		e.withRoom(db),
		e.withRoom(queues),
		e.withRoom(e.withFaults("dynamodbstreams", e.streams.Wire())),
		e.withRoom(e.withFaults("sfn", e.stepfunctions.Wire())),
		e.adminWire())))

	return nil
}

// Run does the work that no call asks for: it fires the timers of executions and makes their calls,
// removes expired items, closes and trims stream shards, and deletes old messages. It returns nil
// when ctx ends. An engine that does not run still serves every call.
func (e *Engine) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.dynamodb.Run(ctx) })
	g.Go(func() error { return e.streams.Run(ctx) })
	g.Go(func() error { return e.stepfunctions.Run(ctx) })
	g.Go(func() error { return e.sqs.Run(ctx) })
	g.Go(func() error { return e.watchClock(ctx) })

	return g.Wait()
}

// Handler returns the HTTP handler of all services, for a server on a socket. It refuses requests of web pages of
// another origin (see package door), requests for another data directory ([IdentityHeader]), and
// operations that AWS does not have, unless they come with the directory's token ([TokenHeader]).
func (e *Engine) Handler() http.Handler { return e.guard(e.gate) }

// Close refuses new calls, waits for running ones and releases the data directory. A
// second Close does nothing and returns nil.
func (e *Engine) Close() (err error) {
	e.close.Do(func() {
		e.gate.close()
		err = errors.Join(e.dynamodb.Close(), e.db.Close())
	})

	return err
}
