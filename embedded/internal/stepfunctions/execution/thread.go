package execution

import (
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// phase says how far a thread is in its state.
type phase byte

// The phases. Their numbers are stored: new ones go to the end.
const (
	ready     phase = iota // will enter its state, at wake
	scheduled              // its task waits in the queue
	started                // a worker has its task
	waiting                // in a Wait, until wake
	backoff                // before a retry, until wake
	joining                // in a Parallel or Map whose children run
	halted                 // stopped by the end of the execution
	calling                // its call of another service waits to be made, or for its answer
	watching               // its call has started an execution, for whose end it waits
	mapping                // in a distributed Map whose Map Run is not over
)

// hasToken reports whether a task in the phase has a token.
func (p phase) hasToken() bool { return p == started || p == calling || p == watching }

// thread is one flow of control: the root, a branch or an iteration. Times are
// milliseconds since 1970.
type thread struct {
	id     int64
	parent int64 // 0 for the root
	index  int   // of the branch or iteration in the parent
	state  int   // the ordinal of its state in the machine
	phase  phase

	input        Ref     // the state's raw input
	entered      int64   // when it entered the state
	enteredEvent int64   // the event StateEntered of that state
	last         int64   // its newest event
	attempts     []int64 // retries of the state, by retrier
	retries      int64   // all retries of the state

	// In a Task.
	attempt                int64 // grows with each scheduling
	queue                  uint64
	taskInput              Ref   // also what a Parallel or Map in JSONata has evaluated
	timeout, heartbeat     int64 // seconds, 0 for none
	timeoutAt, heartbeatAt int64
	token                  [TokenSize]byte

	// In the phases ready, waiting and backoff.
	wake int64

	// In a Parallel or Map.
	next    int   // the next iteration to start
	running int   // children that have not ended
	results []Ref // outputs by index; the zero Ref until the child ends

	// In a distributed Map: the Map Run that the thread waits for, or that a redrive continues.
	run         uint64 // 0 for none
	runName     string
	runRedrives int64

	variables []variable // of its flow, in the order in which they were first assigned
}

func (s *State) thread(id int64) *thread {
	for _, t := range s.threads {
		if t.id == id {
			return t
		}
	}

	return nil
}

// spawn adds a thread at the start of a flow.
func (t *turn) spawn(parent *thread, index int, at *asl.State) *thread {
	t.s.nextThread++

	// The thread's first event follows the newest event of its parent.
	th := &thread{id: t.s.nextThread, index: index, state: at.Ordinal}
	if parent != nil {
		th.parent, th.last = parent.id, parent.last
	}

	t.s.threads = append(t.s.threads, th)

	return th
}

// remove removes a thread and its children.
func (t *turn) remove(th *thread) {
	t.removeChildren(th)
	t.s.threads = slices.DeleteFunc(t.s.threads, func(o *thread) bool { return o == th })
}

func (t *turn) removeChildren(th *thread) {
	for _, child := range t.children(th) {
		t.remove(child)
	}
}

func (t *turn) children(th *thread) (children []*thread) {
	for _, o := range t.s.threads {
		if o.parent == th.id {
			children = append(children, o)
		}
	}

	return children
}
