package execution

import (
	"crypto/subtle"
	"errors"
	"math/rand/v2"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// Limits of executions.
const (
	// MaxDocument is the largest input, output or task result, in bytes.
	MaxDocument = 256 << 10
	// MaxEvents is the largest history; an execution that reaches it fails.
	MaxEvents = 25000
	// MaxConcurrency is how many iterations of a Map run at a time at most.
	MaxConcurrency = 40
	// A turn that has grown past these goes on in the next one, so that a loop
	// without waits does not become one unbounded batch.
	maxTurnEvents = 1000
	maxTurnBytes  = 4 << 20
	// redriveWindow is how long after its end an execution can be redriven.
	redriveWindow = 14 * 24 * time.Hour
	maxRedrives   = 1000
)

// Errors of stimuli that name a task.
var (
	// ErrTaskTimedOut says that the task is over: completed, timed out, or its
	// execution has ended.
	ErrTaskTimedOut = errors.New("the task does not exist anymore")
	// ErrNotScheduled says that the task is not in the queue any more.
	ErrNotScheduled = errors.New("the task is not scheduled")
	// ErrNotRunning says that the execution has ended.
	ErrNotRunning = errors.New("the execution is not running")
)

// NotRedrivableError says why an execution cannot be redriven.
type NotRedrivableError struct{ Reason string }

func (e *NotRedrivableError) Error() string { return e.Reason }

// Identity is what the context object says of the execution.
type Identity struct{ ARN, RoleARN, MachineARN, MachineName string }

// History gives documents of earlier turns.
type History interface {
	Document(ref Ref) ([]byte, error)
}

// Env is what a stimulus meets: the definition, the time, and the world.
type Env struct {
	Machine *asl.Machine
	// Identity is asked for only when the context object is read.
	Identity func() Identity
	// Now decides everything in the stimulus.
	Now    time.Time
	Random *rand.Rand
	// History reads the execution's earlier turns.
	History History
	// ActivityExists reports whether there is an activity.
	ActivityExists func(arn string) bool
	// Sequence gives a growing number for each task that joins a queue.
	Sequence func() uint64
}

// Turn is what one stimulus brought about.
type Turn struct {
	Events []Event
	// Queued tasks joined their queue; Dequeued tasks left it.
	Queued, Dequeued []Task
	// Documents says that the events hold documents of their own.
	Documents bool
}

// Chunk is the id of the turn's first event.
func (t *Turn) Chunk() int64 { return t.Events[0].ID }

// Start begins an execution. s has Name, Revision set, everything else zero.
func (e *Env) Start(s *State, input []byte) (*Turn, error) {
	t := e.turn(s)
	s.Started = t.now
	if n := e.Machine.TimeoutSeconds; n > 0 {
		s.Deadline = t.now + n*1000
	}
	doc := &Doc{JSON: input}
	t.record(Event{Type: ExecutionStarted, State: -1, Doc: doc})
	root := t.spawn(nil, 0, e.Machine.Flow.Start)
	t.work = append(t.work, item{root, doc, true})

	return t.end()
}

// Tick fires what is due.
func (e *Env) Tick(s *State) (*Turn, error) {
	t := e.turn(s)
	t.expire()
	return t.end()
}

// StartTask hands a scheduled task to a worker and returns its input.
func (e *Env) StartTask(s *State, id, attempt int64, worker string, token [TokenSize]byte) (input []byte, _ *Turn, err error) {
	t := e.turn(s)
	t.expire()

	th := s.thread(id)
	if s.Status != Running || th == nil || th.phase != scheduled || th.attempt != attempt {
		turn, err := t.end()
		return nil, turn, errors.Join(err, ErrNotScheduled)
	}

	if input, err = t.document(th.taskInput); err != nil {
		return nil, nil, err
	}

	th.phase, th.token = started, token
	if th.timeout > 0 {
		th.timeoutAt = t.now + th.timeout*1000
	}

	if th.heartbeat > 0 {
		th.heartbeatAt = t.now + th.heartbeat*1000
	}
	t.on(th, Event{Type: ActivityStarted, Worker: worker})
	turn, err := t.end()

	return input, turn, err
}

// Succeed ends a started task with its output. Of several callers one wins; the
// others get ErrTaskTimedOut.
func (e *Env) Succeed(s *State, id int64, token [TokenSize]byte, output []byte) (*Turn, error) {
	return e.complete(s, id, token, func(t *turn, th *thread) {
		doc := &Doc{JSON: output}
		t.on(th, Event{Type: ActivitySucceeded, Doc: doc})
		t.try(th, func() error {
			raw, err := t.raw(th)
			if err != nil {
				return err
			}

			return t.complete(th, raw, doc)
		})
	})
}

// Fail ends a started task with an error.
func (e *Env) Fail(s *State, id int64, token [TokenSize]byte, name, cause string) (*Turn, error) {
	return e.complete(s, id, token, func(t *turn, th *thread) {
		t.on(th, Event{Type: ActivityFailed, Error: name, Cause: cause})
		t.fail(th, &failure{name: name, cause: cause})
	})
}

// Heartbeat starts the heartbeat clock of a started task anew.
func (e *Env) Heartbeat(s *State, id int64, token [TokenSize]byte) (*Turn, error) {
	return e.complete(s, id, token, func(t *turn, th *thread) {
		if th.heartbeat > 0 {
			th.heartbeatAt = t.now + th.heartbeat*1000
		}
	})
}

// complete checks the token and applies what happened. With ErrTaskTimedOut the
// turn may still hold what was due before.
func (e *Env) complete(s *State, id int64, token [TokenSize]byte, happened func(*turn, *thread)) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	th := s.thread(id)
	late := s.Status != Running || th == nil || th.phase != started || subtle.ConstantTimeCompare(th.token[:], token[:]) != 1
	if !late {
		happened(t, th)
	}

	turn, err := t.end()
	if late {
		err = errors.Join(err, ErrTaskTimedOut)
	}

	return turn, err
}

// Stop aborts the execution.
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

// NotRedrivable says why Redrive would refuse, or "".
func (s *State) NotRedrivable(now time.Time) string {
	switch {
	case s.Status == Running:
		return "Execution is RUNNING and cannot be redriven"
	case s.Status == Succeeded:
		return "Execution is SUCCEEDED and cannot be redriven"
	case now.UnixMilli()-s.Stopped > redriveWindow.Milliseconds():
		return "Execution has exceeded its 14 day redrivable period and cannot be redriven"
	case s.LastEvent >= MaxEvents-1:
		return "Execution has exceeded its event limit and cannot be redriven"
	case s.Redrives >= maxRedrives:
		return "Execution has reached the limit of redrives and cannot be redriven"
	}

	return ""
}

// Redrive runs an ended execution again from where it failed, was stopped or
// timed out. What had succeeded stays.
func (e *Env) Redrive(s *State) (*Turn, error) {
	if reason := s.NotRedrivable(e.Now); reason != "" {
		return nil, &NotRedrivableError{reason}
	}

	t := e.turn(s)
	s.Status, s.Stopped, s.Error, s.Cause = Running, 0, "", ""
	s.Redrives, s.Redriven = s.Redrives+1, t.now
	if n := e.Machine.TimeoutSeconds; n > 0 {
		s.Deadline = t.now + n*1000
	}
	t.record(Event{Type: ExecutionRedriven, State: -1, Index: s.Redrives})

	for _, th := range append([]*thread(nil), s.threads...) {
		switch th.phase {
		case halted:
			th.attempts, th.retries = nil, 0
			t.work = append(t.work, item{th, nil, false})
		case ready:
			t.work = append(t.work, item{th, nil, true})
		default:
		}
	}

	return t.end()
}
