package execution

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// Identity holds the names and ARNs of an execution for its context object.
type Identity struct {
	ARN, RoleARN, MachineARN, MachineName string
	// NoRedrives leaves RedriveCount out, as in executions that cannot be redriven.
	NoRedrives bool
}

// History reads documents of earlier turns.
type History interface {
	Document(ref Ref) ([]byte, error)
	// Assigned returns the variables that an event assigns, as an object.
	Assigned(ref Ref) ([]byte, error)
}

// Env is the environment of a stimulus, beside the execution's state. The fields up to Token are required.
type Env struct {
	Machine *asl.Machine
	// Identity is called only when an expression reads the context object.
	Identity func() Identity
	// Now is the one time that the whole stimulus uses.
	Now time.Time
	// Random is the source of jitter and of the functions that draw random values.
	Random *rand.Rand
	// History reads the execution's earlier turns.
	History History
	// ActivityExists reports whether there is an activity with that ARN.
	ActivityExists func(arn string) bool
	// Sequence returns a larger number for each task that joins a queue.
	Sequence func() uint64
	// NewSecret returns the random bytes of a task token, and Token the token with them.
	NewSecret func() [TokenSize]byte
	Token     func(thread int64, secret [TokenSize]byte) string
	// NewRun returns the number and the name of a new Map Run of a state, as MapRun has them.
	// Only machines with a distributed Map need it.
	NewRun func(state *asl.State) (run uint64, name string, err error)

	// Life ends when no caller waits for the turn any more: the stimulus then fails with its error, if an
	// expression takes long. Nil means never.
	Life context.Context
	// Variables are the variables with which Start begins, as an object; nil for none.
	Variables []byte
	// Limit bounds the time of an execution beside the machine's TimeoutSeconds, in seconds; 0
	// means no bound.
	Limit int64
	// Inspect, if set, is called with the values of the states' fields. The names are the names in
	// TestState's inspection data, and "error" and "cause" for a failure.
	Inspect func(field string, value []byte)
	// Mock, if set, is the answer of the Map or Parallel under test, Context its context object, and
	// Retries how often each retrier has retried before.
	Mock    *Mock
	Context []byte
	Retries int64

	// turnEvents replaces maxTurnEvents in tests unless it is 0.
	turnEvents int
}

// Turn is the effect of one stimulus.
type Turn struct {
	Events []Event
	// Queued tasks have joined their queue, Dequeued tasks have left it.
	Queued, Dequeued []Task
	// Runs are the Map Runs that start or are redriven. EndedRuns are
	// the Map Runs that are over after the turn.
	Runs      []MapRun
	EndedRuns []EndedRun
	// Documents reports that the events hold documents of their own.
	Documents bool
}

// Chunk returns the id of the turn's first event, under which the turn is stored.
func (t *Turn) Chunk() int64 { return t.Events[0].ID }

// Start starts an execution. s has Name and Revision set and is zero otherwise.
func (e *Env) Start(s *State, input []byte) (*Turn, error) {
	t := e.turn(s)
	s.Started = t.now
	s.Deadline = e.deadline(t.now)

	doc := &Doc{JSON: input}
	// The variables have their place in this event, as the variables
	// of an Assign have theirs in StateExited.
	t.record(Event{Type: ExecutionStarted, State: -1, Doc: doc, Assigned: e.Variables})

	root := t.spawn(nil, 0, e.Machine.Flow.Start)
	root.setVariables(e.Variables, doc.Ref)
	t.work = append(t.work, workItem{th: root, doc: doc, enter: true})

	return t.end()
}

// deadline returns when an execution that starts now times out, 0 for never.
func (e *Env) deadline(now int64) int64 {
	n := e.Machine.TimeoutSeconds
	if e.Limit > 0 && (n == 0 || n > e.Limit) {
		n = e.Limit
	}

	if n == 0 {
		return 0
	}

	return now + n*1000
}

// Tick applies the timers that are due.
func (e *Env) Tick(s *State) (*Turn, error) {
	t := e.turn(s)
	t.expire()
	return t.end()
}

// Stop aborts the execution. It fails with ErrNotRunning when the execution has ended. The turn then holds
// the effect of due timers.
func (e *Env) Stop(s *State, name, cause string) (*Turn, error) {
	t := e.turn(s)
	// A timer that was due before the stop may have ended the execution.
	t.expire()

	if s.Status != Running {
		turn, err := t.end()
		return turn, errors.Join(err, ErrNotRunning)
	}

	t.stop(Aborted, Event{Type: ExecutionAborted, State: -1, Error: name, Cause: cause})

	return t.end()
}
