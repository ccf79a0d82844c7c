package activities

import (
	"context"
	"errors"
)

// inFlightKey is the key of the running task in a handler's context.
type inFlightKey struct{}

// taskContext is a handler's context, in which inFlightKey finds the task.
type taskContext struct {
	context.Context

	inFlight *inFlight
}

// Value is part of context.Context.
func (c taskContext) Value(key any) any {
	if key == (inFlightKey{}) {
		return c.inFlight
	}

	return c.Context.Value(key)
}

func inFlightOf(ctx context.Context) *inFlight {
	t, _ := ctx.Value(inFlightKey{}).(*inFlight)
	return t
}

// TaskFrom returns the task that a handler's context belongs to, for code that gets the
// context and not the task, such as a Typed handler. It reports false for any other
// context.
func TaskFrom(ctx context.Context) (Task, bool) {
	if t := inFlightOf(ctx); t != nil {
		return t.task, true
	}

	return Task{}, false
}

// RecordHeartbeat records a handler's progress. It returns nil while the handler's context lasts, and
// after that the cause of the context's end: then the handler must return.
//
// The progress goes to Events.Progress and into Done only. A heartbeat of Step Functions carries no
// data, so the next attempt, which another worker may run, does not see the progress. A handler that
// resumes its work must store the progress itself. RecordHeartbeat sends nothing to the service (the
// worker sends the heartbeats), so it may be called often.
func RecordHeartbeat(ctx context.Context, progress any) error {
	t := inFlightOf(ctx)
	if t == nil {
		return errors.New("activities: RecordHeartbeat outside of a handler")
	}

	t.progress.Store(recorded{progress})

	if f := t.worker.cfg.Events.Progress; f != nil {
		f(t.task, progress)
	}

	return context.Cause(ctx)
}

// recorded wraps a handler's progress: an atomic.Value takes one type only, and the progress of a
// handler may have another type in each call.
type recorded struct{ progress any }

// recorded returns the handler's last progress, or nil.
func (t *inFlight) recorded() any {
	r, _ := t.progress.Load().(recorded)
	return r.progress
}
