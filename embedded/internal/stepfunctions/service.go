package stepfunctions

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/stepfunctions/activities"
	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/integrations"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/recent"
	"ratchet/embedded/internal/stepfunctions/waiting"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Config configures a Service.
type Config struct {
	// Region and AccountID are part of every ARN. Both must be set.
	Region, AccountID string
	// Services are what tasks may call, by the name in their Resource: "dynamodb", "sqs".
	Services map[string]wire.Service
	// Clock is the source of the time. Nil means the clock of package time.
	Clock *clock.Clock
	// Log receives the engine's own faults. Nil means slog.Default().
	Log *slog.Logger
}

// lockStripes is the number of locks that all executions share, and that all names share.
const lockStripes = 512

// Service is Step Functions over a store. Its methods may be called from many
// goroutines.
type Service struct {
	db      *store.DB
	cfg     Config
	account arns.Account
	log     *slog.Logger
	random  *rand.Rand
	ids     *keys.Sequence

	machines   *machines.Catalog
	activities *activities.List
	runs       *mapruns.Book

	calls *integrations.Caller

	// queueOrder is the number of the task that joined a queue last.
	queueOrder atomic.Uint64
	queues     *waiting.Queues
	timers     *waiting.Timers
	watchers   *waiting.Watchers
	recent     recent.Cache

	// chunk is runChunk, or less in tests.
	chunk int

	executionLocks, nameLocks [lockStripes]sync.Mutex
}

// New returns a service with the machines, activities and executions that db holds. It
// rebuilds queues and timers from the states of running executions.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Region == "" || cfg.AccountID == "" {
		return nil, errors.New("open step functions: Config.Region and Config.AccountID must be set")
	}

	if cfg.Clock == nil {
		cfg.Clock = new(clock.Clock)
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	s := &Service{
		db:       db,
		cfg:      cfg,
		account:  arns.Account{Region: cfg.Region, ID: cfg.AccountID},
		log:      cfg.Log,
		random:   rand.New(randomness{}), //nolint:gosec // see randomness
		queues:   waiting.NewQueues(),
		timers:   waiting.NewTimers(),
		watchers: waiting.NewWatchers(),
	}
	s.chunk = runChunk

	if err := s.openRooms(); err != nil {
		return nil, fmt.Errorf("open step functions: %w", err)
	}

	s.calls = &integrations.Caller{
		Account:       s.account,
		Services:      cfg.Services,
		Own:           s.Wire().Operations,
		StartedBefore: s.startedBefore,
		Log:           s.log,
	}

	if err := errors.Join(s.recoverExecutions(), s.recoverExpress()); err != nil {
		return nil, fmt.Errorf("open step functions: %w", err)
	}

	return s, nil
}

func (s *Service) lock(k keys.Execution) *sync.Mutex { return &s.executionLocks[k.ID%lockStripes] }

// openRooms opens the numbers, the machines, the activities and the Map Runs.
func (s *Service) openRooms() (err error) {
	if s.ids, err = keys.OpenSequence(s.db); err != nil {
		return err
	}

	if s.machines, err = machines.Open(s.db, s.account, s.cfg.Clock, s.random, s.ids); err != nil {
		return err
	}

	if s.activities, err = activities.Open(s.db, s.account, s.cfg.Clock, s.ids); err != nil {
		return err
	}

	s.runs, err = mapruns.Open(s.db, s.account, s.cfg.Clock, s.random, s.ids, s.machines)

	return err
}
