package execution

import (
	"errors"
	"math/rand/v2"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// Identity is what the context object tells about the execution.
type Identity struct{ ARN, RoleARN, MachineARN, MachineName string }

// History reads documents of earlier turns.
type History interface {
	Document(ref Ref) ([]byte, error)
}

// Env is what a stimulus depends on beside the execution's state. All fields are required.
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
}

// Turn is the effect of one stimulus.
type Turn struct {
	Events []Event
	// Queued tasks have joined their queue, Dequeued tasks have left it.
	Queued, Dequeued []Task
	// Documents reports that the events hold documents of their own.
	Documents bool
}

// Chunk returns the id of the turn's first event, under which the turn is stored.
func (t *Turn) Chunk() int64 { return t.Events[0].ID }

// Start starts an execution. s has Name and Revision set and is zero otherwise.
func (e *Env) Start(s *State, input []byte) (*Turn, error) {
	t := e.turn(s)
	s.Started = t.now
	if n := e.Machine.TimeoutSeconds; n > 0 {
		s.Deadline = t.now + n*1000
	}

	doc := &Doc{JSON: input}
	t.record(Event{Type: ExecutionStarted, State: -1, Doc: doc})

	root := t.spawn(nil, 0, e.Machine.Flow.Start)
	t.work = append(t.work, workItem{th: root, doc: doc, enter: true})

	return t.end()
}

// Tick applies the timers that are due.
func (e *Env) Tick(s *State) (*Turn, error) {
	t := e.turn(s)
	t.expire()
	return t.end()
}

// Stop aborts the execution. It fails with ErrNotRunning when the execution has ended; the
// turn then holds what was due before.
func (e *Env) Stop(s *State, name, cause string) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	if s.Status != Running {
		turn, err := t.end()
		return turn, errors.Join(err, ErrNotRunning)
	}

	t.stop(Aborted, Event{Type: ExecutionAborted, State: -1, Error: name, Cause: cause})

	return t.end()
}
