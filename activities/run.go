package activities

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// run is one task while it is held.
type run struct {
	w     *Worker
	desk  *desk
	task  Task
	at    time.Time // when the token was received
	ended time.Time // when the handler returned

	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	beats  *beats // nil when the state has no heartbeat

	claimed  atomic.Bool
	gone     atomic.Bool // the service said that the task is no longer ours
	watchdog *time.Timer
}

// start runs a task on a goroutine of its own. The desk's slot goes with it.
func (w *Worker) start(work context.Context, d *desk, task Task) {
	r := &run{w: w, desk: d, task: task, at: time.Now()}
	r.ctx, r.cancel = context.WithCancelCause(work)
	w.enter(r)

	if d.act.Heartbeat > 0 {
		r.beats = newBeats(r)
	}
	go r.work()
}

// claim gets the right to answer the task; only one gets it.
func (r *run) claim() bool { return r.claimed.CompareAndSwap(false, true) }

// work calls the handler and answers for it, whatever it does.
func (r *run) work() {
	var output any
	var err error = &PanicError{} // what stays when the handler calls runtime.Goexit
	defer func() {
		if r.watchdog != nil {
			r.watchdog.Stop()
		}

		if r.claim() {
			r.finish(output, err)
		}
	}()

	if errors.Is(context.Cause(r.ctx), ErrShutdown) {
		// The token came after the last moment for it: give it to somebody else.
		err = ErrShutdown
		return
	}

	if f := r.w.cfg.Events.Started; f != nil {
		f(r.task)
	}
	output, err = r.call()
}

// call runs the handler under its deadline. A handler that ignores the deadline
// for Config.DrainGrace is answered for, and its slot is free again.
func (r *run) call() (output any, err error) {
	ctx := r.ctx
	if t := r.desk.act.Timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, ErrDeadline)
		defer cancel()
		r.watchdog = time.AfterFunc(t+r.w.cfg.DrainGrace, func() {
			if r.claim() {
				r.finish(nil, &Error{Name: r.w.cfg.ErrorPrefix + NameDeadline, Cause: "the handler did not return"})
			}
		})
	}
	returned := false
	defer func() {
		if !returned {
			output, err = nil, &PanicError{Value: recover(), Stack: debug.Stack()}
		}

		if err != nil {
			if cause := context.Cause(ctx); errors.Is(cause, ErrDeadline) || errors.Is(cause, ErrShutdown) {
				err = &interrupted{cause: cause, err: err}
			}
		}
	}()
	output, err = r.desk.act.Handle(ctx, r.task)
	returned = true

	return output, err
}

// interrupted is the error of a handler whose context ended before it did.
type interrupted struct{ cause, err error }

func (e *interrupted) Error() string   { return e.cause.Error() + ": " + e.err.Error() }
func (e *interrupted) Unwrap() []error { return []error{e.cause, e.err} }

// finish answers the task and lets go of it. Only who claimed it calls this.
func (r *run) finish(output any, err error) {
	r.ended = time.Now()
	done := Done{Task: r.task, Err: err, Ran: r.ended.Sub(r.at)}
	switch {
	case errors.Is(err, ErrParked):
		r.stopBeats()
		done.Outcome, done.Err = Parked, nil
	case r.lost(err):
		r.stopBeats()
		done.Outcome = Lost
	default:
		reply := r.w.compose(r, output, err)
		r.stopBeats()

		done.Outcome, done.ErrorName = Succeeded, reply.name
		if reply.failure {
			done.Outcome = Failed
			if err == nil {
				done.Err = reply.err
			}
		}

		if outcome, aerr := r.send(reply); outcome != "" {
			done.Outcome, done.Err = outcome, errors.Join(done.Err, aerr)
		}
	}
	r.cancel(context.Canceled)
	r.report(done)
	<-r.desk.slots
	r.w.leave(r)
}

// lost reports whether answering makes no sense: the service has disowned us, or
// we have stopped ourselves and have no output to offer.
func (r *run) lost(err error) bool {
	return r.gone.Load() || (err != nil && errors.Is(context.Cause(r.ctx), ErrTaskLost))
}

func (r *run) stopBeats() {
	if r.beats != nil {
		r.beats.stop()
	}
}

func (r *run) report(done Done) {
	done.Took = time.Since(r.at)
	switch log := r.w.cfg.Log; done.Outcome {
	case Lost:
		// Somebody else has answered, or a repeated answer met its own success: news, but
		// no alarm.
		log.Info("task lost before it was answered", "task", r.task, "ran", done.Ran)
	case Unanswered:
		log.Error("task could not be answered", "task", r.task, "err", done.Err)
	case Failed:
		log.Debug("task failed", "task", r.task, "error", done.ErrorName)
	}

	if f := r.w.cfg.Events.Done; f != nil {
		f(done)
	}
}
