package execution

import (
	"encoding/binary"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// Status is how an execution stands.
type Status byte

// The statuses. The order is part of the stored form.
const (
	Running Status = iota
	Succeeded
	Failed
	TimedOut
	Aborted
)

var statuses = [...]string{"RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"}

// String returns the status as AWS names it.
func (s Status) String() string { return statuses[s] }

// StatusNamed returns the status with the name.
func StatusNamed(name string) (Status, bool) {
	for s, n := range statuses {
		if n == name {
			return Status(s), true
		}
	}

	return 0, false
}

// State is all that an execution remembers beside its history. Times are
// milliseconds since 1970, 0 for never.
type State struct {
	Name string
	// Revision is the definition that the execution is pinned to.
	Revision uint64
	Status   Status
	Started  int64
	Stopped  int64
	// Deadline is when the execution as a whole times out.
	Deadline int64
	Redriven int64
	Redrives int
	// LastEvent is the id of the newest event.
	LastEvent int64
	// Output is where the history holds the output of a succeeded execution.
	Output       Ref
	Error, Cause string
	threads      []*thread
	nextThread   int64
}

// phase is what a thread is doing.
type phase byte

const (
	ready     phase = iota // about to enter its state, in a coming turn
	scheduled              // its task is in the queue
	started                // its task is with a worker
	waiting                // Wait, until wake
	backoff                // before a retry, until wake
	joining                // its branches or iterations run
	halted                 // the execution has ended here
)

// thread is one flow of control: the root, a branch or an iteration.
type thread struct {
	id     int64
	parent int64 // 0 for the root
	index  int   // which branch or iteration of the parent
	state  int   // ordinal
	phase  phase

	input        Ref // the state's raw input
	entered      int64
	enteredEvent int64
	last         int64 // newest event
	attempts     []int64
	retries      int64

	// A task's.
	attempt                int64
	queue                  uint64
	taskInput              Ref
	timeout, heartbeat     int64 // seconds
	timeoutAt, heartbeatAt int64
	token                  [TokenSize]byte

	wake int64

	// A join's.
	next    int   // the next iteration to start
	running int   // children
	results []Ref // by index; the zero Ref while not finished
}

// TokenSize is the number of random bytes that bind a task token.
const TokenSize = 16

// stateVersion starts every stored state.
const stateVersion = 1

// AppendState appends the stored form of s.
func AppendState(b []byte, s *State) []byte {
	b = append(b, stateVersion, byte(s.Status))
	b = appendText(b, s.Name)
	b = binary.AppendUvarint(b, s.Revision)
	for _, v := range [...]int64{s.Started, s.Stopped, s.Deadline, s.Redriven, int64(s.Redrives), s.LastEvent, s.nextThread} {
		b = binary.AppendVarint(b, v)
	}
	b = appendRef(b, s.Output)

	b = appendText(b, s.Error)
	b = appendText(b, s.Cause)
	b = binary.AppendUvarint(b, uint64(len(s.threads)))
	for _, t := range s.threads {
		b = t.append(b)
	}

	return b
}

func (t *thread) append(b []byte) []byte {
	b = append(b, byte(t.phase))
	for _, v := range [...]int64{t.id, t.parent, int64(t.index), int64(t.state), t.entered, t.enteredEvent, t.last, t.retries,
		t.attempt, t.timeout, t.heartbeat, t.timeoutAt, t.heartbeatAt, t.wake, int64(t.next), int64(t.running)} {
		b = binary.AppendVarint(b, v)
	}

	b = binary.AppendUvarint(b, t.queue)
	b = appendRef(appendRef(b, t.input), t.taskInput)
	b = binary.AppendUvarint(b, uint64(len(t.attempts)))
	for _, n := range t.attempts {
		b = binary.AppendVarint(b, n)
	}

	if t.phase == started {
		b = append(b, t.token[:]...)
	}

	b = binary.AppendUvarint(b, uint64(len(t.results)))
	for _, r := range t.results {
		b = appendRef(b, r)
	}

	return b
}

// StoredStatus is the status in a stored state.
func StoredStatus(data []byte) Status { return Status(data[1]) }

// ReadState reads what AppendState wrote.
func ReadState(data []byte) (*State, error) {
	r := &reader{b: data}
	if r.byte() != stateVersion {
		return nil, errCorrupt
	}
	s := &State{Status: Status(r.byte()), Name: r.text()}

	revision, n := binary.Uvarint(r.b)
	if n <= 0 {
		return nil, errCorrupt
	}
	r.b = r.b[n:]
	s.Revision = revision
	s.Started, s.Stopped, s.Deadline, s.Redriven, s.Redrives = r.int(), r.int(), r.int(), r.int(), int(r.int())
	s.LastEvent, s.nextThread = r.int(), r.int()

	s.Output, s.Error, s.Cause = r.ref(), r.text(), r.text()
	count := r.count()
	s.threads = make([]*thread, 0, count+1)
	for range count {
		s.threads = append(s.threads, readThread(r))
	}

	if r.bad || int(s.Status) >= len(statuses) {
		return nil, errCorrupt
	}

	return s, nil
}

func readThread(r *reader) *thread {
	t := &thread{phase: phase(r.byte())}
	t.id, t.parent, t.index, t.state = r.int(), r.int(), int(r.int()), int(r.int())
	t.entered, t.enteredEvent, t.last, t.retries = r.int(), r.int(), r.int(), r.int()

	t.attempt, t.timeout, t.heartbeat, t.timeoutAt, t.heartbeatAt = r.int(), r.int(), r.int(), r.int(), r.int()
	t.wake, t.next, t.running = r.int(), int(r.int()), int(r.int())
	queue, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return t
	}

	r.b = r.b[n:]
	t.queue = queue
	t.input, t.taskInput = r.ref(), r.ref()
	if n := r.count(); n > 0 {
		t.attempts = make([]int64, n)
		for i := range t.attempts {
			t.attempts[i] = r.int()
		}
	}

	if t.phase == started && len(r.b) >= TokenSize {
		r.b = r.b[copy(t.token[:], r.b):]
	}

	if n := r.count(); n > 0 {
		t.results = make([]Ref, n)
		for i := range t.results {
			t.results[i] = r.ref()
		}
	}

	return t
}

// Task is a task in the queue of its activity.
type Task struct {
	Thread, Attempt int64
	// Queue orders tasks: smaller is older.
	Queue    uint64
	Resource string
}

// Tasks lists the tasks that wait for a worker.
func (s *State) Tasks(m *asl.Machine) []Task {
	if s.Status != Running {
		return nil
	}

	var tasks []Task
	for _, t := range s.threads {
		if t.phase == scheduled {
			tasks = append(tasks, Task{Thread: t.id, Attempt: t.attempt, Queue: t.queue, Resource: m.States[t.state].Resource})
		}
	}

	return tasks
}

// NextTimer returns when the execution next needs a Tick, or 0.
func (s *State) NextTimer() int64 {
	if s.Status != Running {
		return 0
	}

	next := s.Deadline
	for _, t := range s.threads {
		if due := t.due(); due != 0 && (next == 0 || due < next) {
			next = due
		}
	}

	return next
}

// due is when the thread needs attention, or 0.
func (t *thread) due() int64 {
	switch t.phase {
	case started:
		if t.heartbeatAt != 0 && (t.timeoutAt == 0 || t.heartbeatAt < t.timeoutAt) {
			return t.heartbeatAt
		}
		return t.timeoutAt
	case ready, waiting, backoff:
		return t.wake
	default:
		return 0
	}
}

func (s *State) thread(id int64) *thread {
	for _, t := range s.threads {
		if t.id == id {
			return t
		}
	}

	return nil
}
