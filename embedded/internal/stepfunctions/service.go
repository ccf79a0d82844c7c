package stepfunctions

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Config says under which names the service answers.
type Config struct {
	// Region and AccountID stand in every ARN. Both must be set.
	Region, AccountID string
	// Log gets the engine's own faults. Nil means slog.Default().
	Log *slog.Logger
}

// lockStripes is how many locks all executions, or all names, share.
const lockStripes = 512

// Service is Step Functions over a store. Its methods may be called from many
// goroutines.
type Service struct {
	db     *store.DB
	cfg    Config
	log    *slog.Logger
	random *rand.Rand
	ids    *sequence
	// queueOrder numbers tasks as they join a queue.
	queueOrder atomic.Uint64
	timers     timers
	recent     recent

	// mu guards machines; starting an execution holds it for reading, so that a
	// deleted machine starts none.
	mu       sync.RWMutex
	machines map[string]*machine

	activitiesMu sync.RWMutex
	activities   map[string]*activity

	queuesMu sync.Mutex
	queues   map[string]*queue

	revisionsMu sync.RWMutex
	revisions   map[uint64]*revision

	executionLocks, nameLocks [lockStripes]sync.Mutex
}

// New recovers the service from the store: machines and activities, and from
// the states of running executions the queues and timers.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Region == "" || cfg.AccountID == "" {
		return nil, errors.New("open step functions: Config.Region and Config.AccountID must be set")
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	s := &Service{
		db: db, cfg: cfg, log: cfg.Log, random: rand.New(randomness{}), //nolint:gosec // see randomness
		machines: map[string]*machine{}, activities: map[string]*activity{},
		queues: map[string]*queue{}, revisions: map[uint64]*revision{},
	}
	s.timers.wake = make(chan struct{}, 1)
	var err error
	if s.ids, err = openSequence(db); err != nil {
		return nil, fmt.Errorf("open step functions: %w", err)
	}

	if err := s.recoverRecords(); err != nil {
		return nil, fmt.Errorf("open step functions: %w", err)
	}

	if err := s.recoverExecutions(); err != nil {
		return nil, fmt.Errorf("open step functions: %w", err)
	}

	return s, nil
}

// recoverExecutions rebuilds queues and timers. It reads the states of running
// executions, which are small, and none of their documents.
func (s *Service) recoverExecutions() error {
	prefix := key(keyRunning)

	return s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		id := executionKey{machine: number(k[:len(k)-8]), id: number(k)}
		st, err := execution.ReadState(v)
		if err != nil {
			return false, fmt.Errorf("read execution %d: %w", id.id, err)
		}

		rev, err := s.revision(id.machine, st.Revision)
		if err != nil {
			return false, err
		}

		for _, t := range st.Tasks(rev.program) {
			s.queue(t.Resource).put(taskOrder{queued{id, t.Thread, t.Attempt}, int64(t.Queue)})
			s.queueOrder.Store(max(s.queueOrder.Load(), t.Queue))
		}
		s.timers.set(id, st.NextTimer())

		return true, nil
	})
}

func (s *Service) lock(k executionKey) *sync.Mutex { return &s.executionLocks[k.id%lockStripes] }

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target: "AWSStepFunctions", MessageKey: "message", InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			"CreateStateMachine":               decoded(s.createStateMachine),
			"UpdateStateMachine":               decoded(s.updateStateMachine),
			"DescribeStateMachine":             decoded(s.describeStateMachine),
			"ListStateMachines":                decoded(s.listStateMachines),
			"DeleteStateMachine":               decoded(s.deleteStateMachine),
			"ValidateStateMachineDefinition":   decoded(s.validateDefinition),
			"StartExecution":                   s.startExecution,
			"DescribeExecution":                decoded(s.describeExecution),
			"DescribeStateMachineForExecution": decoded(s.describeForExecution),
			"ListExecutions":                   decoded(s.listExecutions),
			"StopExecution":                    decoded(s.stopExecution),
			"RedriveExecution":                 decoded(s.redriveExecution),
			"GetExecutionHistory":              decoded(s.executionHistory),
			"CreateActivity":                   decoded(s.createActivity),
			"DescribeActivity":                 decoded(s.describeActivity),
			"ListActivities":                   decoded(s.listActivities),
			"DeleteActivity":                   decoded(s.deleteActivity),
			"GetActivityTask":                  s.getActivityTask,
			"SendTaskSuccess":                  s.sendTaskSuccess,
			"SendTaskFailure":                  s.sendTaskFailure,
			"SendTaskHeartbeat":                s.sendTaskHeartbeat,
		},
	}
}
