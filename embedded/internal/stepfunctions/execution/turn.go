package execution

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// turn is a Turn in the making: a stimulus that is being applied to a state.
type turn struct {
	env       *Env
	s         *State
	now       int64 // ms
	chunk     int64 // the id of the turn's first event
	events    []Event
	bytes     int        // of the documents in events
	work      []workItem // threads that can continue
	before    []Task     // the queued tasks before the stimulus
	runs      []MapRun   // that start or are redriven
	finished  *EndedRun  // the Map Run that the stimulus has ended
	exhausted bool       // the history is full
	err       error      // an error of the engine, not of the workflow

	runsBefore []uint64 // the Map Runs before the stimulus

	began time.Time // by the clock of the process, which no step moves
	meter jsonpath.Meter
}

// workItem is a thread that can continue: by entering its state with doc, or by executing
// the state that it has entered. A nil doc means that the history holds it.
type workItem struct {
	th    *thread
	doc   *Doc
	enter bool
}

func (e *Env) turn(s *State) *turn {
	// events has room for a usual turn.
	return &turn{
		env:    e,
		s:      s,
		now:    e.Now.UnixMilli(),
		chunk:  s.LastEvent + 1,
		events: make([]Event, 0, 6),
		before: s.Tasks(e.Machine),

		runsBefore: s.runs(),
		began:      time.Now(),
		meter:      jsonpath.Meter{Life: e.Life},
	}
}

// end runs all threads that can continue and returns the finished Turn.
func (t *turn) end() (*Turn, error) {
	for t.err == nil && t.s.Status == Running && len(t.work) > 0 && !t.exhausted {
		next := t.work[0]
		t.work = t.work[1:]
		if t.s.thread(next.th.id) == nil {
			continue // removed, because its parent has failed since
		}

		t.run(next)
	}

	if t.err != nil {
		return nil, t.err
	}

	if t.exhausted {
		t.failExhausted()
	}

	turn := &Turn{Events: t.events, Documents: t.bytes > 0, Runs: t.runs, EndedRuns: t.endedRuns()}
	// The caller's queues need the differences only.
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

func (t *turn) run(next workItem) {
	th := next.th

	// A turn that has grown too large or takes long leaves the thread to the next turn: the thread's
	// timer is due at once. That works only if the history holds the input.
	full := len(t.events) >= cmp.Or(t.env.turnEvents, maxTurnEvents) || t.bytes >= maxTurnBytes || time.Since(t.began) > maxTurnTime
	if next.enter && full && next.doc != nil && next.doc.Ref.ID != 0 {
		th.phase, th.input, th.wake = ready, next.doc.Ref, t.now
		return
	}

	t.try(th, func() (err error) {
		// Read only here, because most threads bring their document along.
		if next.doc == nil {
			if next.doc, err = t.rawInput(th); err != nil {
				return err
			}
		}

		if next.enter {
			return t.enter(th, next.doc)
		}

		return t.execute(th, next.doc)
	})
}

// try runs a part of a thread. A *failure goes to the workflow's Retry and Catch; any other
// error ends the turn.
func (t *turn) try(th *thread, part func() error) {
	err := part()
	// A value is missing for a reason that says nothing about the workflow.
	if cut := t.meter.Interrupted(); cut != nil {
		err = cut
	}

	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		t.fail(th, f)
	case t.err == nil:
		t.err = err
	}
}

// record adds an event to the history and returns its id. A document without a place gets
// this event as its place. Only failExhausted writes the last event of a full history.
func (t *turn) record(e Event) int64 {
	if t.s.LastEvent >= maxEvents-1 {
		t.exhausted = true
		return t.s.LastEvent
	}

	t.s.LastEvent++
	e.ID, e.At = t.s.LastEvent, t.now
	t.bytes += len(e.Assigned)
	if e.Doc != nil && e.Doc.Ref.ID == 0 {
		e.Doc.Ref = Ref{Chunk: t.chunk, ID: e.ID}
		t.bytes += len(e.Doc.JSON)
	}

	t.events = append(t.events, e)

	return e.ID
}

// recordOn records an event of the thread's current state.
func (t *turn) recordOn(th *thread, e Event) {
	e.State, e.Prev = th.state, th.last
	th.last = t.record(e)
}

// failExhausted fails an execution whose history is full, with the last event that fits.
func (t *turn) failExhausted() {
	const cause = "The execution reached the maximum number of history events (25000)."

	t.finish(Failed, runtimeError, cause)
	prev := t.s.LastEvent
	// record keeps this last place free.
	t.s.LastEvent++
	t.events = append(t.events, Event{
		ID:    t.s.LastEvent,
		Prev:  prev,
		At:    t.now,
		Type:  ExecutionFailed,
		State: -1,
		Error: runtimeError,
		Cause: cause,
	})
}

func (t *turn) state(th *thread) *asl.State { return t.env.Machine.States[th.state] }

// stop ends the execution from outside. A redrive continues where it was.
func (t *turn) stop(status Status, e Event) {
	t.record(e)
	t.finish(status, e.Error, e.Cause)
}

// finish ends the execution. Its threads stay for a redrive, unless it has succeeded.
func (t *turn) finish(status Status, name, cause string) {
	t.s.Status, t.s.Stopped, t.s.Error, t.s.Cause = status, t.now, name, cause
	t.work = nil
	if status == Succeeded {
		t.s.threads = nil
	}

	// ready and joining threads keep their phase, which tells a redrive how to go on.
	for _, th := range t.s.threads {
		if th.phase != ready && th.phase != joining {
			th.phase = halted
		}
	}
}

// scope returns the environment of the thread's expressions.
func (t *turn) scope(th *thread, input []byte) *jsonpath.Scope {
	// A field inside of a field counts with the outer one: the context object of an expression may select items.
	t.meter.Next()

	return &jsonpath.Scope{
		Meter:    &t.meter,
		Input:    input,
		Random:   t.env.Random,
		Context:  func() []byte { return t.context(th) },
		Variable: func(name string) ([]byte, bool) { return t.variable(th, name) },
	}
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// inspect passes the value of a field to Env.Inspect.
func (t *turn) inspect(field string, doc *Doc) {
	if t.env.Inspect != nil {
		t.env.Inspect(field, doc.JSON)
	}
}
