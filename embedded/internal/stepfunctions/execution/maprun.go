package execution

import (
	"errors"
	"slices"
)

// MapRun is the order of a turn to a Map Run: to start, or to be redriven.
type MapRun struct {
	// Run is the number of the Map Run, Name its label and name with a colon between them.
	Run  uint64
	Name string
	// Thread waits for the Map Run in the state with the ordinal Map.
	Thread int64
	Map    int
	// Redrives is 0 for a start. A redrive has no fields below this one.
	Redrives int64

	// Concurrency is the number of executions that run at a time, 0 for the default.
	Concurrency         int64
	ToleratedCount      int64
	ToleratedPercentage float64
	Items               int64
	// BatchItems is MaxItemsPerBatch, 0 for none.
	BatchItems int64
}

// EndedRun is a Map Run for which a thread no longer waits.
type EndedRun struct {
	Run uint64
	// Finished reports that the Map Run is over, and Succeeded that it has succeeded. A Map Run
	// that is not finished was abandoned: its state was aborted, or the execution has ended.
	Finished, Succeeded bool
}

// runs returns the numbers of the Map Runs for which threads wait.
func (s *State) runs() (all []uint64) {
	if s.Status != Running {
		return nil
	}

	for _, th := range s.threads {
		if th.phase == mapping {
			all = append(all, th.run)
		}
	}

	return all
}

// mapping returns the thread that waits for a Map Run after that many redrives, nil if no thread does.
func (s *State) mapping(id int64, run uint64, redrives int64) *thread {
	th := s.thread(id)
	if s.Status != Running || th == nil || th.phase != mapping || th.run != run || th.runRedrives != redrives {
		return nil
	}

	return th
}

// endedRuns returns the Map Runs for which no thread waits after the turn, although one did before
// the turn or during it.
func (t *turn) endedRuns() (ended []EndedRun) {
	after := t.s.runs()
	before := t.runsBefore
	for _, r := range t.runs {
		before = append(before, r.Run)
	}

	for _, run := range before {
		if slices.Contains(after, run) {
			continue
		}

		e := EndedRun{Run: run}
		if t.finished != nil && t.finished.Run == run {
			e = *t.finished
		}

		ended = append(ended, e)
	}

	return ended
}

// MapEnded ends a distributed Map with the array of its results, or with the failure of its Map Run. It
// fails with ErrNotScheduled when the state no longer waits for the Map Run. The turn then holds the
// effect of due timers.
func (e *Env) MapEnded(s *State, id int64, run uint64, redrives int64, output []byte, failed *CallFailure) (*Turn, error) {
	t := e.turn(s)
	t.expire()

	// After a redrive the same Map Run has another number of redrives: an end from before the
	// redrive comes too late.
	th := s.mapping(id, run, redrives)
	if th == nil {
		return t.notScheduled()
	}

	// The Map Run is over, even if its state fails below.
	t.finished = &EndedRun{Run: run, Finished: true}

	var result *Doc
	if failed == nil {
		t.try(th, func() (err error) {
			if result, err = t.checkSize(th, output); err != nil {
				t.mapRunFailed(th, err)
			}

			return err
		})
	}

	switch {
	case failed != nil:
		f := &failure{name: failed.Name, cause: failed.Cause}
		t.mapRunFailed(th, f)
		t.fail(th, f)
	// After an error of the engine the turn is dropped, and the Map Run tries again.
	case result != nil && t.err == nil:
		t.finished.Succeeded = true
		t.try(th, func() error { return t.mapRunSucceeded(th, result) })
	}

	return t.end()
}

// mapRunSucceeded leaves a distributed Map with its result. Its last event stays MapRunStarted
// or MapRunRedriven, which StateExited names, as in AWS's histories.
// Source: LocalStack's recordings of AWS (test_base_scenarios, since November 2024).
func (t *turn) mapRunSucceeded(th *thread, result *Doc) error {
	raw, err := t.rawInput(th)
	if err != nil {
		return err
	}

	id := t.record(Event{Type: MapRunSucceeded, Prev: th.last, State: th.state})
	t.record(Event{Type: MapStateSucceeded, Prev: id, State: th.state})

	// A failure from here on is the state's, not the Map Run's: a redrive runs the state
	// again with another Map Run.
	th.phase, th.run = joining, 0

	return t.complete(th, raw, result)
}

// mapRunFailed records that a Map Run has failed, and that its state has failed
// unless it is retried. A redrive continues the Map Run of a state whose items have
// failed. After any other failure it starts another Map Run.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-map-run.html
func (t *turn) mapRunFailed(th *thread, err error) {
	var f *failure
	if !errors.As(err, &f) {
		// The error is the engine's.
		return
	}

	if f.name != thresholdError {
		th.run = 0
	}

	t.recordOn(th, Event{Type: MapRunFailed, Error: f.name, Cause: f.cause})

	if t.findRetrier(th, f) < 0 {
		t.recordOn(th, Event{Type: MapStateFailed})
	}
}

// ToleranceExceeded is the failure of a Map Run with more failed items than it tolerates.
func ToleranceExceeded() *CallFailure {
	return &CallFailure{Name: thresholdError, Cause: "The specified tolerated failure threshold was exceeded"}
}

// redriveRun continues the Map Run of a halted thread.
func (t *turn) redriveRun(th *thread) {
	th.runRedrives++
	th.phase = mapping
	t.recordOn(th, Event{Type: MapRunRedriven, Index: int(th.runRedrives), Worker: th.runName})
	t.runs = append(t.runs, MapRun{Run: th.run, Name: th.runName, Thread: th.id, Map: th.state, Redrives: th.runRedrives})
}
