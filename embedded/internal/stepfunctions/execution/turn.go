package execution

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// turn is a stimulus being applied.
type turn struct {
	env       *Env
	s         *State
	now       int64
	chunk     int64 // id of the first event
	events    []Event
	bytes     int // of documents written
	work      []item
	before    []Task
	exhausted bool  // the history is full
	err       error // of the engine, not of the workflow
}

// item is a thread that can go on: by entering its state with doc, or by
// executing the state that it has entered. A nil doc is read from the history.
type item struct {
	th    *thread
	doc   *Doc
	enter bool
}

func (e *Env) turn(s *State) *turn {
	return &turn{env: e, s: s, now: e.Now.UnixMilli(), chunk: s.LastEvent + 1, events: make([]Event, 0, 6), before: s.Tasks(e.Machine)}
}

// end runs what can run and closes the turn.
func (t *turn) end() (*Turn, error) {
	for t.err == nil && t.s.Status == Running && len(t.work) > 0 && !t.exhausted {
		next := t.work[0]
		t.work = t.work[1:]
		if t.s.thread(next.th.id) == nil {
			continue // its parent has failed meanwhile
		}
		t.run(next)
	}

	if t.err != nil {
		return nil, t.err
	}

	if t.exhausted {
		t.exhaust()
	}

	turn := &Turn{Events: t.events, Documents: t.bytes > 0}
	after := t.s.Tasks(t.env.Machine)
	for _, task := range t.before {
		if !slices.Contains(after, task) {
			turn.Dequeued = append(turn.Dequeued, task)
		}
	}

	for _, task := range after {
		if !slices.Contains(t.before, task) {
			turn.Queued = append(turn.Queued, task)
		}
	}

	return turn, nil
}

func (t *turn) run(next item) {
	th := next.th
	full := len(t.events) >= maxTurnEvents || t.bytes >= maxTurnBytes
	if next.enter && full && next.doc != nil && next.doc.Ref.ID != 0 {
		th.phase, th.input, th.wake = ready, next.doc.Ref, t.now
		return
	}
	t.try(th, func() (err error) {
		if next.doc == nil {
			if next.doc, err = t.raw(th); err != nil {
				return err
			}
		}

		if next.enter {
			return t.enter(th, next.doc)
		}

		return t.execute(th, next.doc)
	})
}

// try runs a part of a thread; a *failure is the workflow's, anything else ends
// the turn.
func (t *turn) try(th *thread, part func() error) {
	err := part()
	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		t.fail(th, f)
	case t.err == nil:
		t.err = err
	}
}

// record adds an event to the history and returns its id. The document gets its
// place when it has none yet.
func (t *turn) record(e Event) int64 {
	if t.s.LastEvent >= MaxEvents-1 {
		t.exhausted = true
		return t.s.LastEvent
	}

	t.s.LastEvent++
	e.ID, e.At = t.s.LastEvent, t.now
	if e.Doc != nil && e.Doc.Ref.ID == 0 {
		e.Doc.Ref = Ref{Chunk: t.chunk, ID: e.ID}
		t.bytes += len(e.Doc.JSON)
	}
	t.events = append(t.events, e)

	return e.ID
}

// on records an event of the thread's current state.
func (t *turn) on(th *thread, e Event) {
	e.State, e.Prev = th.state, th.last
	th.last = t.record(e)
}

// exhaust ends an execution whose history is full with its last event.
func (t *turn) exhaust() {
	const cause = "The execution reached the maximum number of history events (25000)."
	t.finish(Failed, runtimeError, cause)
	prev := t.s.LastEvent
	t.s.LastEvent++
	t.events = append(t.events, Event{ID: t.s.LastEvent, Prev: prev, At: t.now, Type: ExecutionFailed, State: -1,
		Error: runtimeError, Cause: cause})
}

// document reads a document of this or an earlier turn.
func (t *turn) document(ref Ref) ([]byte, error) {
	if ref.Chunk == t.chunk {
		return t.events[ref.ID-ref.Chunk].Doc.JSON, nil
	}
	return t.env.History.Document(ref)
}

func (t *turn) doc(ref Ref) (*Doc, error) {
	text, err := t.document(ref)
	return &Doc{JSON: text, Ref: ref}, err
}

// raw reads the state's raw input.
func (t *turn) raw(th *thread) (*Doc, error) {
	if th.input.ID == 0 { // a child that never began
		return t.childInput(t.s.thread(th.parent), th.index)
	}
	return t.doc(th.input)
}

func (t *turn) state(th *thread) *asl.State { return t.env.Machine.States[th.state] }

// spawn adds a thread at the start of a flow.
func (t *turn) spawn(parent *thread, index int, at *asl.State) *thread {
	t.s.nextThread++

	th := &thread{id: t.s.nextThread, index: index, state: at.Ordinal}
	if parent != nil {
		th.parent, th.last = parent.id, parent.last
	}
	t.s.threads = append(t.s.threads, th)

	return th
}

// remove takes a thread and everything under it away.
func (t *turn) remove(th *thread) {
	t.removeUnder(th)
	t.s.threads = slices.DeleteFunc(t.s.threads, func(o *thread) bool { return o == th })
}

func (t *turn) removeUnder(th *thread) {
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

// expire fires what is due, oldest first. The execution's own deadline wins.
func (t *turn) expire() {
	s := t.s
	if s.Status != Running {
		return
	}

	if s.Deadline != 0 && t.now >= s.Deadline {
		t.stop(TimedOut, Event{Type: ExecutionTimedOut, State: -1, Error: timeoutError})
		return
	}

	var due []*thread
	for _, th := range s.threads {
		if at := th.due(); at != 0 && at <= t.now {
			due = append(due, th)
		}
	}
	slices.SortStableFunc(due, func(a, b *thread) int { return cmp.Compare(a.due(), b.due()) })

	for _, th := range due {
		if s.Status != Running || s.thread(th.id) == nil {
			continue
		}

		switch th.phase {
		case started:
			heartbeat := th.heartbeatAt != 0 && th.heartbeatAt == th.due()
			t.on(th, Event{Type: ActivityTimedOut, Error: timeoutError})
			t.fail(th, &failure{name: timeoutError, heartbeat: heartbeat})
		case waiting:
			th.wake = 0
			t.try(th, func() error { return t.waited(th) })
		default:
			t.work = append(t.work, item{th, nil, th.phase == ready})
			th.wake = 0
		}
	}
}

// stop ends the execution from outside; a redrive goes on where it stood.
func (t *turn) stop(status Status, e Event) {
	t.record(e)
	t.finish(status, e.Error, e.Cause)
}

// finish notes the end of the execution. Threads stay for a redrive, unless the
// execution has succeeded.
func (t *turn) finish(status Status, name, cause string) {
	t.s.Status, t.s.Stopped, t.s.Error, t.s.Cause = status, t.now, name, cause
	t.work = nil
	if status == Succeeded {
		t.s.threads = nil
	}

	for _, th := range t.s.threads {
		if th.phase != ready && th.phase != joining {
			th.phase = halted
		}
	}
}

// scope is what the thread's expressions read.
func (t *turn) scope(th *thread, input []byte) *jsonpath.Scope {
	return &jsonpath.Scope{Input: input, Random: t.env.Random, Context: func() []byte { return t.context(th) }}
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
